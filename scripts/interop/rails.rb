# Asks the Postgres wire with Ruby's pg and Active Record, and the MySQL wire with mysql2: rails.rb CLIENT HOST PORT. A line for each thing that it tries.
client, host, port = ARGV
key, authority = ENV.fetch("INTEROP_KEY"), ENV.fetch("INTEROP_CA")

def told(what)
  yield
  puts "#{what} ok"
rescue StandardError => error
  puts "#{what} no #{error.class} #{error.message.split.join(" ")[0, 300]}"
end

def equal(found, wanted)
  raise "#{found.inspect} is not #{wanted.inspect}" unless found == wanted
end

def in_parallel(&ask)
  4.times.map { |i| Thread.new { ask.call(i) } }.map(&:value)
end

# Runs a statement that another thread ends.
def cancelled(by, fault)
  ended = false
  # What comes before the statement ends nothing.
  other = Thread.new { loop { sleep 0.3; break if ended; by.call } }
  yield
  raise "nothing was cancelled"
rescue fault
  nil
ensure
  ended = true
  other.join
end

slow = "select count(*) from range(100000000000) a where a.range % 7 = 3"
if client == "pg"
  require "pg"
  puts "version #{PG::VERSION}"
  connection = nil
  where = { host: host, port: port, user: "tester", password: key, dbname: "shop" }
  told("connect") { connection = PG.connect(**where, sslmode: "disable") }
  told("parameters") { equal(connection.exec_params("select title from items where _id = $1", [2]).getvalue(0, 0), "blue hat") }
  told("introspect") do
    found = connection.exec("select * from items")
    equal(found.fields.first(2), ["_id", "title"])
    equal(found.ftype(0), 20)
    columns = "select column_name, data_type from information_schema.columns where table_name = $1 order by ordinal_position"
    equal(connection.exec_params(columns, ["items"]).values.first, ["_id", "bigint"])
  end
  told("types") do
    # It joins the functions of the types, as the server tells them.
    connection.type_map_for_results = PG::BasicTypeMapForResults.new(connection)
    found = connection.exec("select _id, title, v, 1.5::numeric, date '2024-02-29', true from items where _id = 1")
    equal(found.values, [[1, "red shoe", [1.0, 0.0, 0.5], BigDecimal("1.5"), Date.new(2024, 2, 29), true]])
    connection.type_map_for_results = PG::TypeMapAllStrings.new
  end
  told("cursors") do
    connection.transaction do
      connection.exec("declare c scroll cursor for select i from range(10) t(i)")
      equal(connection.exec("fetch 2 from c").column_values(0), ["0", "1"])
      equal(connection.exec("fetch last from c").column_values(0), ["9"])
      connection.exec("close c")
    end
    connection.send_query("select i from range(1000) t(i)")
    connection.set_single_row_mode
    count = 0
    connection.get_result.stream_each { count += 1 }
    connection.get_last_result
    equal(count, 1000)
  end
  told("cancel") do
    cancelled(-> { connection.cancel }, PG::QueryCanceled) { connection.exec(slow) }
    equal(connection.exec("select 1").getvalue(0, 0), "1")
  end
  told("pool") do
    found = in_parallel do |i|
      one = PG.connect(**where, sslmode: "disable")
      one.exec_params("select $1::int", [i]).getvalue(0, 0).to_i.tap { one.close }
    end
    equal(found, [0, 1, 2, 3])
  end
  told("copy") do
    rows = []
    connection.copy_data("copy (select 1, 'a') to stdout") { while (row = connection.get_copy_data) do rows << row end }
    equal(rows, ["1\ta\n"])
  end
  told("errors") do
    connection.exec("select nope from items")
    raise "an unknown column was found"
  rescue PG::UndefinedColumn
    nil
  end
  told("tls") { PG.connect(**where, sslmode: "verify-full", sslrootcert: authority).exec("select 1") }
elsif client == "mysql2"
  require "mysql2"
  puts "version #{Mysql2::VERSION}"
  where = { host: host, port: port.to_i, username: "tester", password: key, database: "shop" }
  connection = nil
  told("connect") { connection = Mysql2::Client.new(**where) }
  told("introspect") { equal(connection.query("SHOW TABLES", as: :array).first, ["docs"]) }
  told("types") { equal(connection.query("SELECT _id, title, price FROM docs WHERE _id = 1", as: :array).first, [1, "red apple", 1.5]) }
  told("parameters") do
    statement = connection.prepare("SELECT _id FROM docs WHERE title = ?")
    equal(statement.execute("grüner Apfel", as: :array).first, [2])
    # One that is left open is closed when its memory is taken back, in the middle of a stream of rows.
    statement.close
  end
  told("cursors") do
    count = 0
    connection.query("SELECT range FROM range(1000)", stream: true, cache_rows: false).each { count += 1 }
    equal(count, 1000)
  end
  told("cancel") do
    other = Mysql2::Client.new(**where)
    kill = -> { other.query("KILL QUERY #{connection.thread_id}") }
    cancelled(kill, Mysql2::Error) { connection.query(slow) }
    equal(connection.query("SELECT 1", as: :array).first, [1])
  end
  told("pool") do
    equal(in_parallel { |i| Mysql2::Client.new(**where).query("SELECT #{i}", as: :array).first }, [[0], [1], [2], [3]])
  end
  told("errors") do
    connection.query("SELECT nope FROM docs")
    raise "an unknown column was found"
  rescue Mysql2::Error => error
    equal(error.error_number, 1054)
  end
  told("tls") { Mysql2::Client.new(**where, sslca: authority, ssl_mode: :verify_identity).query("SELECT 1") }
else
  require "active_record"
  puts "version #{ActiveRecord::VERSION::STRING}"
  where = { adapter: "postgresql", host: host, port: port.to_i, database: "shop", username: "tester", password: key, pool: 4 }
  ActiveRecord::Base.establish_connection(**where, sslmode: "disable")
  class Item < ActiveRecord::Base
    self.table_name = "items"
  end
  told("connect") { ActiveRecord::Base.connection.select_value("select 1") }
  told("introspect") do
    equal(ActiveRecord::Base.connection.tables, ["items"])
    equal(Item.primary_key, "_id")
    equal(Item.columns.map(&:name).first, "_id")
    ActiveRecord::Base.connection.indexes("items")
    ActiveRecord::Base.connection.foreign_keys("items")
  end
  told("parameters") { equal(Item.where(color: "red").order(:_id).map(&:title).first, "red shoe") }
  told("types") { equal(Item.find(1)._source["title"], "red shoe") }
  told("cursors") do
    equal(Item.find_each(batch_size: 2).map(&:id), [1, 2, 3])
    equal(Item.in_batches(of: 2).map(&:count), [2, 1])
  end
  told("copy") do
    raw, rows = ActiveRecord::Base.connection.raw_connection, []
    raw.copy_data("copy (select 1, 'a') to stdout") { while (row = raw.get_copy_data) do rows << row end }
    equal(rows, ["1\ta\n"])
  end
  told("cancel") do
    raw = ActiveRecord::Base.connection.raw_connection
    cancelled(-> { raw.cancel }, ActiveRecord::QueryCanceled) { ActiveRecord::Base.connection.select_value(slow) }
    equal(ActiveRecord::Base.connection.select_value("select 1"), 1)
  end
  told("pool") { 3.times.map { |i| Thread.new { ActiveRecord::Base.connection_pool.with_connection { Item.find(i + 1) } } }.each(&:join) }
  told("errors") do
    Item.where("nope = 1").to_a
    raise "an unknown column was found"
  rescue ActiveRecord::StatementInvalid
    nil
  end
  told("tls") do
    ActiveRecord::Base.establish_connection(**where, sslmode: "verify-full", sslrootcert: authority)
    equal(ActiveRecord::Base.connection.select_value("select 1"), 1)
  end
end
