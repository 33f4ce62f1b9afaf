import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Flight SQL with its JDBC driver: flight-jdbc.java host:port namespace */
class FlightJdbc {
  static void check(boolean holds, Object told) {
    if (!holds) throw new AssertionError(String.valueOf(told));
  }

  static List<String> column(ResultSet rows, int index) throws SQLException {
    List<String> values = new ArrayList<>();
    try (rows) {
      while (rows.next()) values.add(rows.getString(index));
    }
    return values;
  }

  public static void main(String[] arguments) throws Exception {
    java.util.logging.LogManager.getLogManager().reset();
    String namespace = arguments[1];
    String url = "jdbc:arrow-flight-sql://" + arguments[0] + "/?useEncryption=false&namespace=" + namespace;
    try (Connection connection = DriverManager.getConnection(url, "any", "any")) {
      DatabaseMetaData told = connection.getMetaData();
      check(told.getDatabaseProductName().equals("native-engine"), told.getDatabaseProductName());
      check(told.isReadOnly(), "read-only");
      check(told.getDefaultTransactionIsolation() == Connection.TRANSACTION_NONE, "isolation");
      check(column(told.getCatalogs(), 1).equals(List.of(namespace)), "catalogs");
      check(column(told.getSchemas(), 1).contains("collections"), "schemas");
      check(column(told.getTables(null, "collections", "%", new String[] {"TABLE"}), 3).equals(List.of("docs")), "tables");
      check(column(told.getColumns(null, "collections", "docs", "%"), 4).contains("price"), "columns");
      check(column(told.getPrimaryKeys(null, "collections", "docs"), 4).equals(List.of("_id")), "keys");
      check(column(told.getImportedKeys(null, "collections", "docs"), 4).isEmpty(), "imported keys");
      check(column(told.getTableTypes(), 1).equals(List.of("TABLE")), "table types");
      try (Statement statement = connection.createStatement()) {
        ResultSet rows = statement.executeQuery("select _id, tag, price, made from docs order by _id");
        check(rows.next() && rows.getLong(1) == 1 && rows.getString(2).equals("a") && rows.getDouble(3) == 1.5, "row 1");
        check(rows.getTimestamp(4).getTime() == 1709164800000L, rows.getTimestamp(4));
        check(rows.next() && rows.getLong(1) == 2 && rows.getObject(3) == null && !rows.next(), "row 2");
        rows = statement.executeQuery("select 1.25::decimal(10,2), date '2024-02-29', [1,2], true, 9::hugeint");
        check(rows.next() && rows.getBigDecimal(1).toString().equals("1.25"), "decimal");
        check(rows.getDate(2).toString().equals("2024-02-29"), rows.getDate(2));
        check(((Object[]) rows.getArray(3).getArray()).length == 2 && rows.getBoolean(4) && rows.getInt(5) == 9, "others");
        rows = statement.executeQuery("select timestamptz '2024-02-29 12:00:00+02'");
        check(rows.next() && rows.getObject(1, java.time.Instant.class).toString().equals("2024-02-29T10:00:00Z"), "an instant");
        check(rows.getTimestamp(1).getTime() == 1709200800000L, rows.getTimestamp(1));
        rows = statement.executeQuery("select i from range(300000) r(i)");
        long count = 0;
        while (rows.next()) count++;
        check(count == 300000, count);
      }
      try (PreparedStatement statement = connection.prepareStatement("select _id from docs where tag = ? and _id < ?")) {
        for (String tag : new String[] {"a", "b", "c"}) {
          statement.setString(1, tag);
          statement.setLong(2, 5);
          List<String> want = tag.equals("c") ? List.of() : List.of(tag.equals("a") ? "1" : "2");
          check(column(statement.executeQuery(), 1).equals(want), tag);
        }
      }
      for (String query : new String[] {"insert into docs values (1)", "select * from nothing"}) {
        try (Statement statement = connection.createStatement()) {
          statement.execute(query);
          throw new AssertionError(query + " should have failed");
        } catch (SQLException error) {
          check(error.getMessage().contains("query: "), error);
        }
      }
      try (Connection local = DriverManager.getConnection(url + "&timestamps=local", "any", "any"); Statement statement = local.createStatement()) {
        ResultSet rows = statement.executeQuery("select timestamptz '2024-02-29 12:00:00+02', made from docs where _id = 1");
        check(rows.next() && rows.getObject(1).toString().equals("2024-02-29 10:00:00.0"), "an object");
        check(rows.getObject(2) instanceof java.sql.Timestamp, "a column");
      }
      System.out.println("Flight SQL with JDBC, " + told.getDriverName() + " " + told.getDriverVersion());
    }
  }
}
