"""The only way to AWS: the calls of the services, how they are made, and what their errors mean. Only modules of this folder import botocore."""
