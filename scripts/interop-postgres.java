import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Asks the Postgres wire with the JDBC driver: what it wants to know of tables, types in both formats, portions. */
class InteropPostgres {
  static void equal(Object found, Object wanted, String what) {
    if (!String.valueOf(found).equals(String.valueOf(wanted))) {
      throw new AssertionError(what + ": " + found + " is not " + wanted);
    }
  }

  static int count(ResultSet rows) throws SQLException {
    int count = 0;
    while (rows.next()) count++;
    return count;
  }

  static String column(ResultSet rows, String name) throws SQLException {
    StringBuilder found = new StringBuilder();
    while (rows.next()) found.append(rows.getString(name)).append(' ');
    return found.toString().trim();
  }

  static void metadata(DatabaseMetaData about) throws SQLException {
    equal(column(about.getTables(null, null, "%", new String[] {"TABLE"}), "TABLE_NAME"), "items orders", "tables");
    equal(column(about.getColumns(null, "collections", "items", "%"), "TYPE_NAME"), "int8 text text _float4 json", "columns");
    equal(column(about.getCatalogs(), "TABLE_CAT"), "shop", "catalogs");
    equal(column(about.getSchemas(), "TABLE_SCHEM"), "collections counters information_schema links live pg_catalog streams", "schemas");
    equal(column(about.getPrimaryKeys(null, "collections", "items"), "COLUMN_NAME"), "_id", "primary keys");
    equal(count(about.getImportedKeys(null, "collections", "items")), 0, "imported keys");
    equal(column(about.getIndexInfo(null, "collections", "items", true, false), "INDEX_NAME"), "items_pkey", "indexes");
    equal(count(about.getFunctions(null, "collections", "%")), 0, "functions");
    equal(count(about.getFunctions(null, "pg_catalog", "boolin")), 1, "functions of types");
    equal(count(about.getProcedures(null, null, "%")), 0, "procedures");
    equal(count(about.getTypeInfo()) > 20, true, "types");
    equal(count(about.getTableTypes()) > 0, true, "table types");
    equal(count(about.getTablePrivileges(null, "collections", "items")) > 0, true, "privileges");
    equal(about.getSQLKeywords().length() > 0, true, "keywords");
  }

  static void columns(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("select title as t, upper(title) from items")) {
      ResultSetMetaData about = rows.getMetaData();
      equal(about.getTableName(1) + "." + about.unwrap(org.postgresql.PGResultSetMetaData.class).getBaseColumnName(1), "items.title", "table of a column");
      equal(about.getTableName(2), "", "table of an expression");
    }
  }

  /** From the fifth run on the driver asks for the binary format. */
  static void types(Connection connection) throws SQLException {
    String query = "select ?::bool, ?::int, ?::bigint, ?::double, ?::decimal(10,2), ?::text, ?::date, ?::timestamp, ?::bytea, ?::uuid, ?::int[]";
    for (int run = 0; run < 8; run++) {
      try (PreparedStatement statement = connection.prepareStatement(query)) {
        statement.setBoolean(1, true);
        statement.setInt(2, -7);
        statement.setLong(3, 1L << 40);
        statement.setDouble(4, 1.5);
        statement.setBigDecimal(5, new BigDecimal("12.34"));
        statement.setString(6, "naïve");
        statement.setDate(7, Date.valueOf("2024-02-29"));
        statement.setTimestamp(8, Timestamp.valueOf("2024-02-29 12:34:56.789"));
        statement.setBytes(9, new byte[] {0, -1});
        statement.setObject(10, new UUID(0, 15));
        statement.setArray(11, connection.createArrayOf("int4", new Object[] {1, 2}));
        ResultSet row = statement.executeQuery();
        row.next();
        equal(row.getBoolean(1), true, "boolean");
        equal(row.getInt(2), -7, "int");
        equal(row.getLong(3), 1L << 40, "bigint");
        equal(row.getDouble(4), 1.5, "double");
        equal(row.getBigDecimal(5), "12.34", "decimal");
        equal(row.getString(6), "naïve", "text");
        equal(row.getDate(7), "2024-02-29", "date");
        equal(row.getTimestamp(8), "2024-02-29 12:34:56.789", "timestamp");
        equal(Arrays.toString(row.getBytes(9)), "[0, -1]", "bytes");
        equal(row.getObject(10), new UUID(0, 15), "uuid");
        equal(Arrays.toString((Object[]) row.getArray(11).getArray()), "[1, 2]", "array");
      }
    }
  }

  /** The settings and the form of statement with which Metabase asks. */
  static void asMetabase(Connection connection) throws SQLException {
    connection.setReadOnly(true);
    connection.setTransactionIsolation(Connection.TRANSACTION_READ_UNCOMMITTED);
    connection.setAutoCommit(false);
    connection.setHoldability(ResultSet.CLOSE_CURSORS_AT_COMMIT);
    try (Statement statement = connection.createStatement()) {
      statement.execute("SET SESSION TIMEZONE TO 'Europe/Berlin';");
    }
    String query =
        "-- userID: 1 queryType: MBQL\nSELECT CAST(\"streams\".\"orders\".\"timestamp\" AS date) AS \"timestamp\", COUNT(*) AS \"count\""
            + " FROM \"streams\".\"orders\" WHERE \"streams\".\"orders\".\"key\" = ?"
            + " GROUP BY CAST(\"streams\".\"orders\".\"timestamp\" AS date) ORDER BY CAST(\"streams\".\"orders\".\"timestamp\" AS date) ASC";
    try (PreparedStatement statement =
        connection.prepareStatement(query, ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, ResultSet.CLOSE_CURSORS_AT_COMMIT)) {
      statement.setFetchDirection(ResultSet.FETCH_FORWARD);
      statement.setFetchSize(500);
      statement.setMaxRows(2000);
      statement.setString(1, "k");
      equal(column(statement.executeQuery(), "count"), "1", "a question of Metabase");
    }
    connection.rollback();
    connection.setAutoCommit(true);
    connection.setReadOnly(false);
  }

  /** Another thread asks for the end of a statement. */
  static void cancel(Connection connection) throws Exception {
    try (Statement statement = connection.createStatement()) {
      Thread canceller = new Thread(() -> {
        try {
          Thread.sleep(1_000);
          statement.cancel();
        } catch (InterruptedException | SQLException error) {
          System.err.println(error);
        }
      });
      canceller.start();
      try {
        statement.executeQuery("select count(*) from range(100000000000) a where a.range % 7 = 3");
        throw new AssertionError("nothing was cancelled");
      } catch (SQLException error) {
        equal(error.getSQLState(), "57014", "the state of a cancelled statement");
      }
      canceller.join();
    }
  }

  /** The driver's own pool: eight threads share four connections. */
  @SuppressWarnings("deprecation")
  static void pool(String url, String key) throws Exception {
    org.postgresql.ds.PGPoolingDataSource source = new org.postgresql.ds.PGPoolingDataSource();
    source.setDataSourceName("interop");
    source.setURL(url);
    source.setUser("tester");
    source.setPassword(key);
    source.setInitialConnections(2);
    source.setMaxConnections(4);
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<String>> answers = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        int wanted = i;
        answers.add(threads.submit(() -> {
          try (Connection connection = source.getConnection(); PreparedStatement prepared = connection.prepareStatement("select ?::int as i")) {
            prepared.setInt(1, wanted);
            return column(prepared.executeQuery(), "i");
          }
        }));
      }
      for (int i = 0; i < 8; i++) equal(answers.get(i).get(), i, "its own answer");
    } finally {
      threads.shutdown();
      source.close();
    }
  }

  public static void main(String[] arguments) throws Exception {
    String key = System.getenv("INTEROP_KEY");
    try (Connection connection = DriverManager.getConnection(arguments[0], "tester", key)) {
      DatabaseMetaData about = connection.getMetaData();
      System.out.println("version " + about.getDriverVersion());
      System.out.println("connect ok");
      equal(connection.getSchema(), "collections", "schema");
      metadata(about);
      connection.setSchema("streams");
      equal(connection.getSchema(), "streams", "another schema");
      try (Statement statement = connection.createStatement()) {
        equal(column(statement.executeQuery("select key from orders"), "key"), "k", "a bare name");
      }
      connection.setSchema("collections");
      System.out.println("introspect ok");
      asMetabase(connection);
      columns(connection);
      types(connection);
      System.out.println("types ok\nparameters ok");
      connection.setAutoCommit(false);
      try (Statement statement = connection.createStatement()) {
        statement.setFetchSize(100);
        ResultSet rows = statement.executeQuery("select i from range(1050) t(i)");
        equal(count(rows), 1050, "rows in portions");
      }
      System.out.println("cursors ok");
      java.io.StringWriter copied = new java.io.StringWriter();
      connection.unwrap(org.postgresql.PGConnection.class).getCopyAPI().copyOut("copy (select 1, 'a') to stdout", copied);
      equal(copied.toString(), "1\ta\n", "a copy");
      System.out.println("copy ok");
      connection.commit();
      connection.setAutoCommit(true);
      try (Statement statement = connection.createStatement()) {
        statement.executeQuery("select nope from items");
        throw new AssertionError("a column that is not there was found");
      } catch (SQLException error) {
        equal(error.getSQLState(), "42703", "the state of an error");
      }
      System.out.println("errors ok");
      try (Statement statement = connection.createStatement()) {
        statement.setQueryTimeout(1);
        statement.executeQuery("select count(*) from range(100000000000) a where a.range % 7 = 3");
        throw new AssertionError("nothing was cancelled");
      } catch (SQLException error) {
        equal(error.getSQLState(), "57014", "the state of a time-out");
      }
      cancel(connection);
      equal(connection.isValid(5), true, "valid");
      System.out.println("cancel ok");
      pool(arguments[0], key);
      System.out.println("pool ok");
    }
    String secured = arguments[0].replace("sslmode=disable", "sslmode=verify-full&sslrootcert=" + System.getenv("INTEROP_CA"));
    try (Connection connection = DriverManager.getConnection(secured, "tester", key)) {
      equal(connection.isValid(5), true, "valid over TLS");
    }
    System.out.println("tls ok");
  }
}
