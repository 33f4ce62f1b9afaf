# Asks the Postgres wire with Ruby's pg and Active Record: rails.rb CLIENT HOST PORT. A line for each thing that it tries.
client, host, port = ARGV

def told(what)
  yield
  puts "#{what} ok"
rescue StandardError => error
  puts "#{what} no #{error.class} #{error.message.split.join(" ")[0, 300]}"
end

def equal(found, wanted)
  raise "#{found.inspect} is not #{wanted.inspect}" unless found == wanted
end

if client == "pg"
  require "pg"
  puts "version #{PG::VERSION}"
  connection = nil
  told("connect") { connection = PG.connect(host: host, port: port, user: "tester", dbname: "shop") }
  told("parameters") { equal(connection.exec_params("select title from items where _id = $1", [2]).getvalue(0, 0), "blue hat") }
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
else
  require "active_record"
  puts "version #{ActiveRecord::VERSION::STRING}"
  ActiveRecord::Base.establish_connection(adapter: "postgresql", host: host, port: port.to_i, database: "shop", username: "tester", pool: 4)
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
  told("pool") { 3.times.map { |i| Thread.new { ActiveRecord::Base.connection_pool.with_connection { Item.find(i + 1) } } }.each(&:join) }
  told("errors") do
    Item.where("nope = 1").to_a
    raise "an unknown column was found"
  rescue ActiveRecord::StatementInvalid
    nil
  end
end
