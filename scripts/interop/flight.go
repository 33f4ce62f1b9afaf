// Flight SQL with ADBC for Go: flight.go host:port namespace
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(holds bool, told any) {
	if !holds {
		panic(fmt.Sprint(told))
	}
}

func rows(reader array.RecordReader) (count int64) {
	defer reader.Release()
	for reader.Next() {
		count += reader.Record().NumRows()
	}
	must(reader.Err())
	return count
}

func main() {
	ctx := context.Background()
	database, err := flightsql.NewDriver(memory.DefaultAllocator).NewDatabase(map[string]string{
		adbc.OptionKeyURI:      "grpc://" + os.Args[1],
		adbc.OptionKeyUsername: "any",
		adbc.OptionKeyPassword: "any",
		flightsql.OptionRPCCallHeaderPrefix + "namespace": os.Args[2],
	})
	must(err)
	connection, err := database.Open(ctx)
	must(err)
	defer connection.Close()

	statement, err := connection.NewStatement()
	must(err)
	defer statement.Close()
	must(statement.SetSqlQuery("select i, 'row ' || i as t from range(300000) r(i)"))
	reader, _, err := statement.ExecuteQuery(ctx)
	must(err)
	check(rows(reader) == 300000, "rows")

	must(statement.SetSqlQuery("select _id from docs where tag = ?"))
	must(statement.Prepare(ctx))
	builder := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "tag", Type: arrow.BinaryTypes.String}}, nil))
	builder.Field(0).(*array.StringBuilder).Append("b")
	must(statement.Bind(ctx, builder.NewRecord()))
	reader, _, err = statement.ExecuteQuery(ctx)
	must(err)
	check(reader.Next() && reader.Record().Column(0).(*array.Int64).Value(0) == 2, "parameters")
	reader.Release()

	schema, err := connection.GetTableSchema(ctx, nil, nil, "docs")
	must(err)
	check(schema.HasField("price"), schema)

	must(statement.SetSqlQuery("insert into docs values (1)"))
	_, _, err = statement.ExecuteQuery(ctx)
	check(err != nil && strings.Contains(err.Error(), "query: "), err)
	fmt.Println("Flight SQL with ADBC for Go")
}
