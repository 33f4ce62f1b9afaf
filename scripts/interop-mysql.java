import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

/** Asks the MySQL wire through Connector/J: rows, parameters, cursors, metadata, errors. Ends with 1 at the first surprise. */
class InteropMysql {
  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static int count(ResultSet rows) throws SQLException {
    int count = 0;
    while (rows.next()) count++;
    rows.close();
    return count;
  }

  public static void main(String[] arguments) throws Exception {
    String key = System.getenv("INTEROP_KEY");
    String[] ways = {"", "&useServerPrepStmts=true", "&useServerPrepStmts=true&useCursorFetch=true&defaultFetchSize=2", "&useInformationSchema=false"};
    for (String way : ways) {
      try (Connection connection = DriverManager.getConnection(arguments[0] + way, "tester", key)) {
        rows(connection);
        metadata(connection.getMetaData());
        errors(connection);
      }
    }
    try (Connection connection = DriverManager.getConnection(arguments[0], "tester", key)) {
      System.out.println("version " + connection.getMetaData().getDriverVersion());
    }
    System.out.println("connect ok\nintrospect ok\ntypes ok\nparameters ok\ncursors ok\nerrors ok");
    try (Connection connection = DriverManager.getConnection(arguments[0], "tester", key)) {
      cancel(connection);
    }
    System.out.println("cancel ok");
    if (arguments[0].startsWith("jdbc:mariadb:")) {
      pool(arguments[0] + "&pool=true&maxPoolSize=4&minPoolSize=2", key);
      System.out.println("pool ok");
    }
    try (Connection connection = DriverManager.getConnection(secured(arguments[0]), "tester", key)) {
      check(connection.isValid(5), "a valid connection over TLS");
    }
    System.out.println("tls ok");
  }

  /** Over TLS, with the server's certificate and name checked; MySQL's driver wants the authority in a store of keys. */
  static String secured(String url) throws Exception {
    Path authority = Path.of(System.getenv("INTEROP_CA"));
    if (url.startsWith("jdbc:mariadb:")) return url.replace("sslMode=disable", "sslMode=verify-full&serverSslCert=" + authority);
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    try (InputStream pem = Files.newInputStream(authority)) {
      store.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    Path file = authority.resolveSibling("interop-authority.p12");
    try (OutputStream out = Files.newOutputStream(file)) {
      store.store(out, "interop".toCharArray());
    }
    String trusted = "&trustCertificateKeyStoreUrl=" + file.toUri() + "&trustCertificateKeyStoreType=PKCS12&trustCertificateKeyStorePassword=interop";
    return url.replace("sslMode=DISABLED", "sslMode=VERIFY_IDENTITY" + trusted);
  }

  static void rows(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      ResultSet rows = statement.executeQuery("SELECT _id, title, price, n, `at`, sold, v FROM docs ORDER BY _id");
      check(rows.next(), "a first row");
      check(rows.getLong(1) == 1 && rows.getString(2).equals("red apple") && rows.getDouble(3) == 1.5, "the first row");
      check(rows.getTimestamp(5) != null && rows.getBoolean(6) && rows.getObject(6) instanceof Boolean, "its types");
      check(1 + count(rows) == 3, "three rows");
      statement.setMaxRows(1);
      check(count(statement.executeQuery("SELECT * FROM docs")) == 1, "no more rows than wanted");
    }
    try (PreparedStatement prepared = connection.prepareStatement("SELECT _id FROM docs WHERE n = ? OR title = ? ORDER BY 1 LIMIT ?")) {
      for (int i = 0; i < 2; i++) {
        prepared.setLong(1, 1);
        prepared.setString(2, "grüner Apfel");
        prepared.setInt(3, 10);
        check(count(prepared.executeQuery()) == 2, "rows by parameters");
      }
    }
    try (PreparedStatement prepared = connection.prepareStatement("SELECT range AS i FROM range(?)")) {
      prepared.setInt(1, 10_001);
      check(count(prepared.executeQuery()) == 10_001, "many rows");
    }
    connection.setAutoCommit(false);
    connection.commit();
    connection.setAutoCommit(true);
    check(connection.isValid(5), "a valid connection");
  }

  static void metadata(DatabaseMetaData metadata) throws SQLException {
    check(count(metadata.getCatalogs()) == 2, "two databases");
    check(count(metadata.getTables("shop", null, "%", new String[] {"TABLE"})) == 2, "two tables");
    check(count(metadata.getColumns("shop", null, "docs", "%")) == 9, "nine columns");
    check(count(metadata.getPrimaryKeys("shop", null, "docs")) == 1, "one key");
    check(count(metadata.getIndexInfo("shop", null, "docs", false, false)) == 1, "one index");
    check(count(metadata.getImportedKeys("shop", null, "docs")) == 0, "no foreign key");
    check(count(metadata.getProcedures("shop", null, "%")) == 0, "no procedure");
    check(count(metadata.getColumnPrivileges("shop", null, "docs", "%")) >= 0, "privileges of columns");
    check(count(metadata.getTablePrivileges("shop", null, "docs")) >= 0, "privileges of tables");
    check(count(metadata.getBestRowIdentifier("shop", null, "docs", DatabaseMetaData.bestRowSession, true)) == 1, "a best identifier");
    check(count(metadata.getVersionColumns("shop", null, "docs")) == 0, "no version");
    check(count(metadata.getExportedKeys("shop", null, "docs")) == 0, "no exported key");
    check(count(metadata.getCrossReference("shop", null, "docs", "shop", null, "docs")) == 0, "no reference");
    check(count(metadata.getFunctions("shop", null, "%")) == 0, "no function");
    check(count(metadata.getTypeInfo()) > 10, "types");
    check(count(metadata.getTableTypes()) > 0, "types of tables");
    check(count(metadata.getUDTs("shop", null, "%", null)) == 0, "no type of one's own");
  }

  /** The driver asks on a connection of its own for the end of a statement that another thread waits for. */
  static void cancel(Connection connection) throws Exception {
    try (Statement statement = connection.createStatement()) {
      AtomicBoolean ended = new AtomicBoolean();
      Thread canceller = new Thread(() -> {
        try {
          // One that comes before the statement ends nothing.
          for (Thread.sleep(500); !ended.get(); Thread.sleep(500)) statement.cancel();
        } catch (InterruptedException | SQLException error) {
          System.err.println(error);
        }
      });
      canceller.start();
      try {
        statement.executeQuery("SELECT SUM(a.range * b.range) FROM range(100000) a, range(100000) b");
        check(false, "nothing was cancelled");
      } catch (SQLException error) {
        // MySQL's driver tells it with an error of its own.
        boolean isCancelled = error.getErrorCode() == 1317 || error.getClass().getSimpleName().equals("MySQLStatementCancelledException");
        check(isCancelled, "a cancelled statement: " + error.getErrorCode() + " " + error);
      } finally {
        ended.set(true);
        canceller.join();
      }
    }
    check(connection.isValid(5), "a valid connection after a cancelled statement");
  }

  /** MariaDB's driver has a pool of its own: eight threads share four connections. */
  static void pool(String url, String key) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<Integer>> answers = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        int wanted = i;
        answers.add(threads.submit(() -> {
          try (Connection connection = DriverManager.getConnection(url, "tester", key);
              PreparedStatement prepared = connection.prepareStatement("SELECT ?")) {
            prepared.setInt(1, wanted);
            ResultSet rows = prepared.executeQuery();
            rows.next();
            return rows.getInt(1);
          }
        }));
      }
      for (int i = 0; i < 8; i++) check(answers.get(i).get() == i, "its own answer");
    } finally {
      threads.shutdown();
    }
  }

  static void errors(Connection connection) throws SQLException {
    Object[][] refused = {{"SELECT * FROM nothing", 1146}, {"SELECT nothing FROM docs", 1054}, {"DELETE FROM docs", 1290}, {"SELEC", 1064}};
    for (Object[] each : refused) {
      try (Statement statement = connection.createStatement()) {
        statement.execute((String) each[0]);
        check(false, each[0] + " must be refused");
      } catch (SQLException error) {
        check(error.getErrorCode() == (int) each[1], each[0] + ": " + error.getErrorCode() + " " + error.getMessage());
      }
    }
  }
}
