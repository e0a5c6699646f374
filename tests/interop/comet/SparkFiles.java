/*
 * Reads map output files with Spark's own code: the index through IndexShuffleBlockResolver, as a reducer does, and the
 * checksums through ShuffleChecksumUtils.
 *
 *   SparkFiles NAME.data...           with NAME.index beside each, and NAME.checksum.ADLER32, .CRC32 or .CRC32C if there is one
 *
 * A line per file: the name, a tab, "ok partitions=N bytes=N checksum=NAME" or what Spark found wrong.
 * Exit: 0 all ok, 1 not, 2 usage.
 */
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleChecksumUtils;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Option;

public final class SparkFiles {
    private static final String[] ALGORITHMS = {"ADLER32", "CRC32", "CRC32C"};

    private final IndexShuffleBlockResolver resolver;

    private SparkFiles(SparkConf settings) {
        resolver = new IndexShuffleBlockResolver(settings, SparkEnv.get().blockManager(), new ConcurrentHashMap<>());
    }

    public static void main(String[] files) throws IOException {
        if (files.length == 0) {
            System.err.println("usage: SparkFiles NAME.data...");
            System.exit(2);
        }
        SparkConf settings = new SparkConf().setMaster("local[1]").setAppName("SparkFiles").set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1");
        SparkContext context = new SparkContext(settings);
        boolean allOk = true;
        SparkFiles program = new SparkFiles(settings);
        for (int at = 0; at < files.length; at++) {
            String verdict = program.check(at, files[at]);
            allOk &= verdict.startsWith("ok ");
            System.out.println(files[at] + "\t" + verdict);
        }
        context.stop();
        System.exit(allOk ? 0 : 1);
    }

    private String check(int shuffleId, String name) throws IOException {
        String stem = name.replaceFirst("\\.data$", "");
        Path index = Paths.get(stem + ".index");
        int nPartitions = (int) (Files.size(index) / Long.BYTES) - 1;
        try {
            long size = compareBlocks(shuffleId, Paths.get(name), index, nPartitions);
            return "ok partitions=" + nPartitions + " bytes=" + size + " checksum=" + checksumOf(stem, nPartitions);
        } catch (IllegalStateException | IOException problem) {
            return problem.toString().replace('\n', ' ');
        }
    }

    /** Puts the files where Spark looks for them and takes every partition as a reducer would. */
    private long compareBlocks(int shuffleId, Path data, Path index, int nPartitions) throws IOException {
        copy(data, resolver.getDataFile(shuffleId, 0L));
        copy(index, resolver.getIndexFile(shuffleId, 0L, Option.empty()));
        ByteBuffer offsets = ByteBuffer.wrap(Files.readAllBytes(index));
        ByteBuffer whole = ByteBuffer.wrap(Files.readAllBytes(data));
        long total = 0;
        for (int partition = 0; partition < nPartitions; partition++) {
            ManagedBuffer block = resolver.getBlockData(new ShuffleBlockId(shuffleId, 0L, partition), Option.empty());
            int begin = Math.toIntExact(offsets.getLong(partition * Long.BYTES));
            if (!whole.slice(begin, Math.toIntExact(block.size())).equals(block.nioByteBuffer())) {
                throw new IllegalStateException("partition " + partition + " differs");
            }
            total += block.size();
        }
        if (total != whole.limit()) {
            throw new IllegalStateException("partitions have " + total + " bytes of " + whole.limit());
        }
        return total;
    }

    private static void copy(Path from, File to) throws IOException {
        Files.createDirectories(to.toPath().getParent());
        Files.copy(from, to.toPath(), StandardCopyOption.REPLACE_EXISTING);
    }

    private static String checksumOf(String stem, int nPartitions) {
        for (String algorithm : ALGORITHMS) {
            File sums = new File(stem + ".checksum." + algorithm);
            if (sums.exists()) {
                if (!ShuffleChecksumUtils.compareChecksums(nPartitions, algorithm, sums, new File(stem + ".data"), new File(stem + ".index"))) {
                    throw new IllegalStateException("Spark computes other " + algorithm + " checksums");
                }
                return algorithm;
            }
        }
        return "none";
    }
}
