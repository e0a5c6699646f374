/*
 * Decodes shuffle blocks with the released Comet's own reader and prints what it saw.
 *
 *   CometDecode [--verdicts] [--blocks] [--touch] [--validated] FILE...
 *
 * FILE "-" : names of files on standard input, one a line.
 *
 * FILE is a bare run of blocks, or NAME.data; with a NAME.index beside it every partition is read on its own.
 *
 * Default output, one JSON value a line:
 *   {"file": F} or {"file": F, "partition": P}     opens a file or a partition
 *   {"block": K, "rows": N, "types": [T...]}       only with --blocks; T as Spark spells the type
 *   [v, ...]                                       one row, columns in order
 *   {"error": "...", "block": K}                   the partition ends here: Comet refused block K
 * Values: null; true; integers of all widths as numbers; float and double as "f" + 8 or "d" + 16 hex digits of the IEEE
 * bits; decimal as the unscaled number in quotes, "123"; string as JSON; a string that isn't UTF-8, and binary, as
 * "x" + hex in an object, {"x": "00ff"}; date: days; timestamp: microseconds; time: nanoseconds; year-month interval:
 * months; day-time interval: microseconds; calendar interval [months, days, microseconds]; list [..]; struct {"s": [..]}
 * by position; map {"m": [[k, v], ..]} in stored order.
 * tests/interop/canon.py makes the same lines from Arrow data.
 *
 * --verdicts: a table with tabs, the file as it was named, accepts or rejects, and Comet's message. Only decoding and
 * the hand-over to the JVM count; with --touch every value is read too.
 *
 * --validated: Comet's reader for blocks that came from a remote shuffle service, with its full checks. It wants to know the
 * types that it should meet: they are taken from the first block, which is decoded the ordinary way before.
 *
 * Exit: 0 all was accepted (--verdicts: always), 1 something was refused, 2 usage, 3 a file could not be read.
 */
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.comet.CometShuffleReadFailureHandler;
import org.apache.comet.Native;
import org.apache.comet.NativeBase;
import org.apache.comet.serde.OperatorOuterClass;
import org.apache.comet.serde.QueryPlanSerde;
import org.apache.comet.vector.NativeUtil;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.comet.execution.shuffle.NativeBatchDecoderIterator;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.CalendarIntervalType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;

public final class CometDecode {
    private static final int READ_BUFFER_SIZE = 1 << 16;
    private static final Set<String> OPTIONS = Set.of("--verdicts", "--blocks", "--touch", "--validated");
    private static final char[] HEX = "0123456789abcdef".toCharArray();

    private final Native library = new Native();
    private final PrintStream out;
    private final boolean verdicts;
    private final boolean blocks;
    private final boolean touch;
    private final boolean validated;
    private final StringBuilder line = new StringBuilder();
    private boolean refused;

    private CometDecode(PrintStream out, Set<String> options) {
        this.out = out;
        this.verdicts = options.contains("--verdicts");
        this.blocks = options.contains("--blocks");
        this.touch = options.contains("--touch");
        this.validated = options.contains("--validated");
    }

    public static void main(String[] arguments) throws Throwable {
        Set<String> options = new HashSet<>();
        List<String> files = new ArrayList<>();
        for (String argument : arguments) {
            if (argument.equals("-")) {
                files.addAll(namesFromInput());
            } else {
                (argument.startsWith("--") ? options : files).add(argument);
            }
        }
        if (files.isEmpty() || !OPTIONS.containsAll(options)) {
            System.err.println("usage: CometDecode [--verdicts] [--blocks] [--touch] [--validated] FILE...");
            System.exit(2);
        }
        if (!NativeBase.isLoaded()) {
            System.err.println("CometDecode: Comet's native library did not load");
            System.exit(3);
        }
        PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 20), false, StandardCharsets.UTF_8);
        CometDecode program = new CometDecode(out, options);
        try {
            for (String file : files) {
                program.readFile(Paths.get(file));
            }
        } catch (NoSuchFileException problem) {
            out.flush();
            System.err.println("CometDecode: " + problem);
            System.exit(3);
        }
        out.flush();
        System.exit(program.refused && !program.verdicts ? 1 : 0);
    }

    private static List<String> namesFromInput() throws IOException {
        BufferedReader reader = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<String> names = new ArrayList<>();
        for (String name = reader.readLine(); name != null; name = reader.readLine()) {
            if (!name.isEmpty()) {
                names.add(name);
            }
        }
        return names;
    }

    // ---- files and partitions -----------------------------------------------------------------------------------

    private void readFile(Path file) throws IOException {
        if (!Files.isReadable(file)) {
            throw new NoSuchFileException(file.toString());
        }
        long[] index = readIndex(file);
        boolean indexed = index != null;
        long[] offsets = indexed ? index : new long[] {0, Files.size(file)};
        Verdict verdict = new Verdict();
        for (int partition = 0; partition + 1 < offsets.length; partition++) {
            if (!verdicts) {
                out.println("{\"file\": " + quote(file.toString()) + (indexed ? ", \"partition\": " + partition : "") + "}");
            }
            readRange(file, offsets[partition], offsets[partition + 1], verdict);
        }
        refused |= verdict.message != null;
        if (verdicts) {
            out.println(file + "\t" + verdict);
        }
    }

    /** The offsets of the index file beside NAME.data, big-endian as Spark writes them, or null if there is none. */
    private static long[] readIndex(Path file) throws IOException {
        String name = file.toString();
        if (!name.endsWith(".data")) {
            return null;
        }
        Path index = Paths.get(name.substring(0, name.length() - ".data".length()) + ".index");
        if (!Files.exists(index)) {
            return null;
        }
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(index));
        long[] offsets = new long[bytes.remaining() / Long.BYTES];
        bytes.asLongBuffer().get(offsets);
        return offsets;
    }

    private void readRange(Path file, long begin, long end, Verdict verdict) {
        scala.Option<byte[]> expected = scala.Option.empty();
        long block = 0;
        NativeUtil util = new NativeUtil();
        NativeBatchDecoderIterator iterator = null;
        try {
            if (validated) {
                expected = typesOfFirstBlock(bytesOf(file, begin, end));
            }
            InputStream bytes = bytesOf(file, begin, end);
            iterator = open(expected.isDefined() ? new Remote(bytes) : bytes, util, expected);
            while (iterator.hasNext()) {
                ColumnarBatch batch = iterator.next();
                printBatch(batch, block++);
                verdict.batches++;
                verdict.rows += batch.numRows();
            }
        } catch (Exception | LinkageError problem) {
            verdict.message = verdict.message == null ? oneLine(problem) : verdict.message;
            if (!verdicts) {
                out.println("{\"error\": " + quote(oneLine(problem)) + ", \"block\": " + block + "}");
            }
        }
        closeQuietly(iterator, util);
    }

    /** The iterator closes its stream, so each gets its own. */
    private static InputStream bytesOf(Path file, long begin, long end) throws IOException {
        FileChannel channel = FileChannel.open(file).position(begin);
        return new Bounded(new BufferedInputStream(Channels.newInputStream(channel), READ_BUFFER_SIZE), end - begin);
    }

    private NativeBatchDecoderIterator open(InputStream bytes, NativeUtil util, scala.Option<byte[]> expected) {
        SQLMetric time = new SQLMetric("nsTiming", 0L);
        return new NativeBatchDecoderIterator(bytes, time, library, util, false, expected, READ_BUFFER_SIZE);
    }

    /** The description of the columns that Comet's validating reader asks for; none if there is no block. */
    private scala.Option<byte[]> typesOfFirstBlock(InputStream bytes) {
        NativeUtil util = new NativeUtil();
        NativeBatchDecoderIterator iterator = open(bytes, util, scala.Option.empty());
        try {
            if (!iterator.hasNext()) {
                return scala.Option.empty();
            }
            ColumnarBatch batch = iterator.next();
            OperatorOuterClass.ShuffleScan.Builder scan = OperatorOuterClass.ShuffleScan.newBuilder();
            for (int column = 0; column < batch.numCols(); column++) {
                scan.addFields(QueryPlanSerde.serializeDataType(batch.column(column).dataType()).get());
            }
            return scala.Option.apply(scan.build().toByteArray());
        } finally {
            closeQuietly(iterator, util);
        }
    }

    /** A refused block may leave Arrow buffers behind; that is Comet's affair and no verdict on the file. */
    private static void closeQuietly(NativeBatchDecoderIterator iterator, NativeUtil util) {
        try {
            if (iterator != null) {
                iterator.close();
            }
            util.close();
        } catch (RuntimeException leaked) {
            // deliberately nothing
        }
    }

    private static String oneLine(Throwable problem) {
        String text = problem.getMessage() == null ? problem.getClass().getSimpleName() : problem.getMessage();
        int end = text.indexOf('\n');
        return (end < 0 ? text : text.substring(0, end)).replace('\t', ' ').trim();
    }

    private static final class Verdict {
        long batches;
        long rows;
        String message;

        @Override
        public String toString() {
            return message == null ? "accepts\tok batches=" + batches + " rows=" + rows : "rejects\t" + message;
        }
    }

    /** At most `left` bytes of another stream. */
    private static final class Bounded extends InputStream {
        private final InputStream inner;
        private long left;

        Bounded(InputStream inner, long left) {
            this.inner = inner;
            this.left = left;
        }

        @Override
        public int read() throws IOException {
            if (left == 0) {
                return -1;
            }
            int value = inner.read();
            left -= value < 0 ? 0 : 1;
            return value;
        }

        @Override
        public int read(byte[] target, int offset, int size) throws IOException {
            if (left == 0) {
                return size == 0 ? 0 : -1;
            }
            int count = inner.read(target, offset, (int) Math.min(size, left));
            left -= Math.max(count, 0);
            return count;
        }

        @Override
        public void close() throws IOException {
            inner.close();
        }
    }

    /** Comet takes its validating path for streams of this kind only. */
    private static final class Remote extends FilterInputStream implements CometShuffleReadFailureHandler {
        Remote(InputStream inner) {
            super(inner);
        }

        @Override
        public void onShuffleReadFailure(Throwable problem) {
            // the iterator throws the problem itself
        }
    }

    // ---- rows and values ----------------------------------------------------------------------------------------

    private void printBatch(ColumnarBatch batch, long block) {
        DataType[] types = new DataType[batch.numCols()];
        for (int column = 0; column < types.length; column++) {
            types[column] = batch.column(column).dataType();
        }
        if (blocks && !verdicts) {
            printBlock(batch, block, types);
        }
        if (verdicts && !touch) {
            return;
        }
        for (int row = 0; row < batch.numRows(); row++) {
            line.setLength(0);
            putRow(batch.getRow(row), types);
            if (!verdicts) {
                out.append(line).append('\n');
            }
        }
    }

    private void printBlock(ColumnarBatch batch, long block, DataType[] types) {
        line.setLength(0);
        line.append("{\"block\": ").append(block).append(", \"rows\": ").append(batch.numRows()).append(", \"types\": [");
        for (int column = 0; column < types.length; column++) {
            line.append(column == 0 ? "" : ", ").append(quote(types[column].catalogString()));
        }
        out.append(line).append("]}\n");
    }

    private void putRow(InternalRow row, DataType[] types) {
        line.append('[');
        for (int column = 0; column < types.length; column++) {
            line.append(column == 0 ? "" : ", ");
            putValue(row, column, types[column]);
        }
        line.append(']');
    }

    private void putValue(SpecializedGetters holder, int at, DataType type) {
        if (type instanceof NullType || holder.isNullAt(at)) {
            line.append("null");
        } else if (type instanceof BooleanType) {
            line.append(holder.getBoolean(at));
        } else if (type instanceof FloatType) {
            putHex("\"f", Float.floatToRawIntBits(holder.getFloat(at)) & 0xFFFFFFFFL, 8).append('"');
        } else if (type instanceof DoubleType) {
            putHex("\"d", Double.doubleToRawLongBits(holder.getDouble(at)), 16).append('"');
        } else if (type instanceof DecimalType decimal) {
            line.append('"').append(holder.getDecimal(at, decimal.precision(), decimal.scale())
                    .toJavaBigDecimal().setScale(decimal.scale()).unscaledValue()).append('"');
        } else if (type instanceof StringType) {
            putString(holder.getUTF8String(at));
        } else if (type instanceof BinaryType) {
            putBytes(holder.getBinary(at));
        } else if (type instanceof CalendarIntervalType) {
            CalendarInterval value = holder.getInterval(at);
            line.append('[').append(value.months).append(", ").append(value.days).append(", ").append(value.microseconds).append(']');
        } else if (type instanceof ArrayType list) {
            putList(holder.getArray(at), list.elementType());
        } else if (type instanceof StructType struct) {
            putStruct(holder.getStruct(at, struct.length()), struct);
        } else if (type instanceof MapType map) {
            putMap(holder.getMap(at), map);
        } else {
            putInteger(holder, at, type);
        }
    }

    /** Everything that Spark keeps in a Java integer: numbers, dates, times and two of the intervals. */
    private void putInteger(SpecializedGetters holder, int at, DataType type) {
        switch (type.defaultSize()) {
            case 1 -> line.append(holder.getByte(at));
            case 2 -> line.append(holder.getShort(at));
            case 4 -> line.append(holder.getInt(at));
            case 8 -> line.append(holder.getLong(at));
            default -> throw new UnsupportedOperationException("no canonical form for " + type.catalogString());
        }
    }

    private void putList(ArrayData list, DataType element) {
        line.append('[');
        for (int at = 0; at < list.numElements(); at++) {
            line.append(at == 0 ? "" : ", ");
            putValue(list, at, element);
        }
        line.append(']');
    }

    private void putStruct(InternalRow struct, StructType type) {
        line.append("{\"s\": [");
        StructField[] fields = type.fields();
        for (int at = 0; at < fields.length; at++) {
            line.append(at == 0 ? "" : ", ");
            putValue(struct, at, fields[at].dataType());
        }
        line.append("]}");
    }

    private void putMap(MapData map, MapType type) {
        line.append("{\"m\": [");
        for (int at = 0; at < map.numElements(); at++) {
            line.append(at == 0 ? "[" : ", [");
            putValue(map.keyArray(), at, type.keyType());
            line.append(", ");
            putValue(map.valueArray(), at, type.valueType());
            line.append(']');
        }
        line.append("]}");
    }

    private StringBuilder putHex(String start, long bits, int nDigits) {
        line.append(start);
        for (int shift = 4 * (nDigits - 1); shift >= 0; shift -= 4) {
            line.append(HEX[(int) (bits >>> shift) & 15]);
        }
        return line;
    }

    private void putBytes(byte[] bytes) {
        line.append("{\"x\": \"");
        for (byte value : bytes) {
            line.append(HEX[(value >> 4) & 15]).append(HEX[value & 15]);
        }
        line.append("\"}");
    }

    private void putString(UTF8String text) {
        byte[] bytes = text.getBytes();
        try {
            line.append(quote(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString()));
        } catch (CharacterCodingException notUtf8) {
            putBytes(bytes);
        }
    }

    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder(text.length() + 2).append('"');
        for (int at = 0; at < text.length(); at++) {
            char c = text.charAt(at);
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < 0x20 || c == 0x7F) {
                quoted.append("\\u00").append(HEX[c >> 4]).append(HEX[c & 15]);
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }
}
