import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;

/**
 * HDFS and YARN in one process, on 127.0.0.1 only: a name node, a data node, a resource manager and a node manager.
 *
 * <p>The first argument is a folder for all their files, the second one the names of variables that containers inherit. The
 * folder gets `conf`, the settings of a gateway. It ends when its standard input does.
 */
public final class LocalHadoop {
    private static final String HOST = "127.0.0.1";
    /** What a gateway must know. */
    private static final String[] ADDRESSES = {
        CommonConfigurationKeysPublic.FS_DEFAULT_NAME_KEY,
        YarnConfiguration.RM_ADDRESS,
        YarnConfiguration.RM_SCHEDULER_ADDRESS,
        YarnConfiguration.RM_WEBAPP_ADDRESS,
    };

    public static void main(String[] arguments) {
        try {
            run(arguments);
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1); // threads of daemons that have started would keep it running
        }
    }

    private static void run(String[] arguments) throws Exception {
        File folder = new File(arguments[0]);
        DefaultMetricsSystem.setMiniClusterMode(true); // several daemons have metrics of one name
        MiniDFSCluster hdfs = new MiniDFSCluster.Builder(new Configuration(), new File(folder, "hdfs")).build();
        hdfs.waitActive();
        YarnConfiguration yarn = settings(folder, arguments[1]);
        FileSystem.setDefaultUri(yarn, hdfs.getURI());
        ResourceManager resources = new ResourceManager();
        resources.init(yarn);
        resources.start(); // it writes its ports into the settings
        NodeManager node = new NodeManager();
        node.init(new YarnConfiguration(yarn));
        node.start();
        while (resources.getResourceScheduler().getNumClusterNodes() == 0) {
            Thread.sleep(20);
        }
        File gateway = new File(folder, "conf");
        gateway.mkdirs();
        Configuration known = new Configuration(false);
        for (String name : ADDRESSES) {
            known.set(name, yarn.get(name));
        }
        for (String file : new String[] {"core-site.xml", "yarn-site.xml"}) {
            try (OutputStream out = new FileOutputStream(new File(gateway, file))) {
                known.writeXml(out);
            }
        }
        System.out.printf(
                "{\"event\":\"started\",\"files\":\"http://%s:%d\",\"applications\":\"http://%s\"}%n",
                HOST, hdfs.getNameNode().getHttpAddress().getPort(), known.get(YarnConfiguration.RM_WEBAPP_ADDRESS));
        while (System.in.read() >= 0) {
            continue;
        }
        node.stop(); // with its containers
        Runtime.getRuntime().halt(0); // nothing of it is kept
    }

    private static YarnConfiguration settings(File folder, String variables) {
        YarnConfiguration yarn = new YarnConfiguration();
        String[] addresses = {
            YarnConfiguration.RM_ADDRESS,
            YarnConfiguration.RM_SCHEDULER_ADDRESS,
            YarnConfiguration.RM_RESOURCE_TRACKER_ADDRESS,
            YarnConfiguration.RM_ADMIN_ADDRESS,
            YarnConfiguration.RM_WEBAPP_ADDRESS,
            YarnConfiguration.NM_ADDRESS,
            YarnConfiguration.NM_LOCALIZER_ADDRESS,
            YarnConfiguration.NM_COLLECTOR_SERVICE_ADDRESS,
            YarnConfiguration.NM_WEBAPP_ADDRESS,
        };
        for (String name : addresses) {
            yarn.set(name, HOST + ":0");
        }
        yarn.setBoolean(YarnConfiguration.IS_MINI_YARN_CLUSTER, true); // ports of web pages are known, too
        yarn.set(YarnConfiguration.RM_SCHEDULER, "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler");
        yarn.set(YarnConfiguration.NM_LOCAL_DIRS, folder + "/local");
        yarn.set(YarnConfiguration.NM_LOG_DIRS, folder + "/logs");
        yarn.set(YarnConfiguration.NM_ENV_WHITELIST, YarnConfiguration.DEFAULT_NM_ENV_WHITELIST + "," + variables);
        yarn.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false); // a JVM reserves more than it uses
        yarn.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100); // the disk of a developer may be full
        yarn.setInt(YarnConfiguration.NM_PMEM_MB, 8192); // containers share this machine's memory, as much as they use
        yarn.setInt(YarnConfiguration.NM_VCORES, 8);
        yarn.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 128);
        yarn.setInt(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, 100);
        yarn.setLong(YarnConfiguration.NM_SLEEP_DELAY_BEFORE_SIGKILL_MS, 1);
        return yarn;
    }

    private LocalHadoop() {}
}
