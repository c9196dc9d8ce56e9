-- kinesis_orders is a table USING kinesis, which the catalog has already.
CREATE STREAMING TABLE orders TBLPROPERTIES ('pipelines.reset.allowed' = 'false')
AS SELECT * FROM STREAM kinesis_orders;
CREATE MATERIALIZED VIEW received AS SELECT CAST(data AS STRING) AS data FROM orders;
