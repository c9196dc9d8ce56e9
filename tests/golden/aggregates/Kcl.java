// Writes kcl-3.5.1.json: odd aggregates with the right MD5, and the user records that the KCL returns for them. Run once, with the
// jars of amazon-kinesis-client 3.5.1 in a directory, on Java 17:
//
//     java -cp 'jars/*' Kcl.java > kcl-3.5.1.json
//
// The KCL leaves aggregates whole that lack a required field, and returns no user record after one whose index is beyond its table.
// Such ones are not here. Half a surrogate pair is one U+FFFD in Java and three elsewhere.

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import software.amazon.kinesis.retrieval.AggregatorUtil;
import software.amazon.kinesis.retrieval.KinesisClientRecord;

public class Kcl {
    static final String KEY = "0a016b", ONE = "1a0708001a036f6e65", TWO = "1a0708001a0374776f";

    static byte[] aggregate(String message) throws Exception {
        byte[] body = HexFormat.of().parseHex(message);
        byte[] digest = MessageDigest.getInstance("MD5").digest(body);
        return ByteBuffer.allocate(body.length + 20).putInt(0xf3899ac2).put(body).put(digest).array();
    }

    static String quoted(String text) {
        return text == null ? "null" : "\"" + text + "\"";
    }

    static String base64(byte[] bytes) {
        return quoted(Base64.getEncoder().encodeToString(bytes));
    }

    static String read(byte[] data) {
        KinesisClientRecord record = KinesisClientRecord.builder()
                .data(ByteBuffer.wrap(data)).partitionKey("outer").sequenceNumber("1").build();
        List<String> found = new ArrayList<>();
        for (KinesisClientRecord one : new AggregatorUtil().deaggregate(List.of(record))) {
            byte[] payload = new byte[one.data().remaining()];
            one.data().get(payload);
            found.add(String.format("{\"partition_key\": %s, \"explicit_hash_key\": %s, \"data\": %s}",
                    quoted(one.partitionKey()), quoted(one.explicitHashKey()), base64(payload)));
        }
        return String.join(", ", found);
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> cases = new LinkedHashMap<>();
        cases.put("a key that is no text", "0a01ff" + ONE + TWO);
        cases.put("a key cut inside a character", "0a0361e282" + ONE + TWO);
        cases.put("a character of a key cut short", "0a04e2826162" + ONE);
        cases.put("overlong forms", "0a02c080" + ONE);
        cases.put("beyond Unicode", "0a04f4908080" + ONE);
        cases.put("a key of 257 characters", "0a8102" + "6b".repeat(257) + ONE + TWO);
        cases.put("an empty key", "0a00" + ONE);
        cases.put("a wrong explicit hash key that is not used", KEY + "1201ff" + ONE + TWO);
        cases.put("tags", KEY + "1a0e08001a036f6e6522050a03746167");
        cases.put("an unknown field", KEY + "220178" + ONE + TWO);
        cases.put("a group", KEY + "2324" + ONE + TWO);
        cases.put("a group in a group", KEY + "232b08010a01782c24" + ONE + TWO);
        cases.put("a key as a number", "0805" + KEY + ONE + TWO);
        cases.put("records as a number", KEY + ONE + "1800" + TWO);
        cases.put("a tag longer than it need be", KEY + ONE + "9a00" + TWO.substring(2));
        cases.put("tables only", KEY);
        List<String> written = new ArrayList<>();
        for (Map.Entry<String, String> one : cases.entrySet()) {
            byte[] data = aggregate(one.getValue());
            written.add(String.format("{\"name\": %s, \"aggregate\": %s, \"user_records\": [%s]}",
                    quoted(one.getKey()), base64(data), read(data)));
        }
        byte[] golden = ("[\n " + String.join(",\n ", written) + "\n]\n").getBytes(StandardCharsets.UTF_8);
        System.out.write(golden, 0, golden.length);
        System.out.flush();
    }
}
