#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How large the shuffle files of Spark and of Comet are: each table, a Parquet file, is repartitioned by its column k in one map task.

    spark_sizes.py SIDE CODEC PARTITIONS FOLDER.parquet...

SIDE: rows (Spark's own shuffle of UnsafeRows), native (Comet's native writer), jvm (Comet's writer of rows). CODEC: lz4 or zstd, each at the
engine's default level, which is 1 for zstd. One JSON line a table: the bytes of the data files. Needs what tests/interop/setup brings
(COLSHUF_PEERS); a run of one side is one process, since a codec belongs to a Spark context.
"""
import glob
import json
import os
import sys
import tempfile
import time


def open_session(side, codec, scratch):
    from pyspark.sql import SparkSession
    peers = os.environ.get("COLSHUF_PEERS", "build/peers")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "3g", "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": os.path.join(scratch, "warehouse"), "spark.sql.adaptive.enabled": "false",
        "spark.sql.files.maxPartitionBytes": "4g", "spark.io.compression.codec": codec, "spark.sql.session.timeZone": "UTC",
    }
    if side != "rows":
        jar, = glob.glob(os.path.join(peers, "jars", "comet-*.jar"))
        settings.update({
            "spark.jars": jar, "spark.driver.extraClassPath": jar, "spark.executor.extraClassPath": jar,
            "spark.plugins": "org.apache.spark.CometPlugin", "spark.comet.enabled": "true", "spark.comet.exec.enabled": "true",
            "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
            "spark.comet.exec.shuffle.enabled": "true", "spark.comet.exec.shuffle.mode": side,
            "spark.comet.exec.shuffle.compression.codec": codec, "spark.comet.shuffle.compression.codec": codec,
            "spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "2g",
        })
    builder = SparkSession.builder.appName("spark_sizes").master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def shuffle_files(scratch):
    return {path: os.path.getsize(path) for path in glob.glob(os.path.join(scratch, "**", "shuffle_*.data"), recursive=True)}


def main():
    side, codec, n_partitions, *tables = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        session = open_session(side, codec, scratch)
        for path in tables:
            before = set(shuffle_files(scratch))
            shuffled = session.read.parquet(path).repartition(int(n_partitions), "k")
            plan = shuffled._jdf.queryExecution().executedPlan().toString()
            start = time.time()
            shuffled.write.format("noop").mode("overwrite").save()
            after = shuffle_files(scratch)
            exchange = next((line.strip(" +-:*()0123456789") for line in plan.splitlines() if "Exchange" in line), "?").split(" ")[0]
            print(json.dumps({"program": "spark", "operation": "shuffle_size", "cell": os.path.basename(path).split(".")[0], "side": side, "codec": codec,
                              "partitions": int(n_partitions), "bytes": sum(size for file, size in after.items() if file not in before),
                              "exchange": exchange, "seconds": round(time.time() - start, 3)}), flush=True)
        session.stop()


if __name__ == "__main__":
    main()
