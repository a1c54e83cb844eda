import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** A Neo4j server on a loopback port until its standard input ends: `Launcher FOLDER PORT [auth] [read_only]`. */
public class Launcher {
    public static void main(String[] arguments) throws Exception {
        List<String> options = List.of(arguments);
        SocketAddress address = new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1]));
        DatabaseManagementService server = new DatabaseManagementServiceBuilder(Path.of(arguments[0]))
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, address)
                .setConfig(BoltConnector.advertised_address, address)
                .setConfig(HttpConnector.enabled, false)
                // Each test empties the database: that is no reason to plan all queries anew.
                .setConfig(GraphDatabaseSettings.cypher_min_replan_interval, Duration.ofDays(1))
                .setConfig(GraphDatabaseSettings.auth_enabled, options.contains("auth"))
                .setConfig(GraphDatabaseSettings.read_only_database_default, options.contains("read_only"))
                .build();
        System.out.println("bolt://" + address);
        while (System.in.read() >= 0) {}
        server.shutdown();
    }
}
