"""
AWS's Kinesis Client Library for Java as a witness: its workers, and DynamoDB Local for their leases, on 127.0.0.1.
"""
