// Asks the Postgres wire with pgx and lib/pq and the MySQL wire with go-sql-driver. Prints a line for each thing that it tries.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lib/pq"
)

const slow = "select count(*) from range(100000000000) a where a.range % 7 = 3"

func told(what string, try func() error) {
	if err := try(); err != nil {
		fmt.Println(what, "no", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Println(what, "ok")
}

func check(holds bool, what string, given ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf("%s: %v", what, given)
}

func withPgx(url string) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var connection *pgx.Conn
	told("connect", func() (err error) { connection, err = pgx.Connect(ctx, url); return })
	if connection == nil {
		return
	}
	told("types", func() error {
		var flag bool
		var small int16
		var large int64
		var real float32
		var text string
		var raw []byte
		var list []int32
		var vector []float32
		var at time.Time
		row := connection.QueryRow(ctx, `select true, 7::int2, 9::int8, 1.5::float4, 'ä', '\x00ff'::bytea, array[1, 2]::int4[], v,
			timestamptz '2024-02-29 12:00:00+00' from items where _id = 1`)
		if err := row.Scan(&flag, &small, &large, &real, &text, &raw, &list, &vector, &at); err != nil {
			return err
		}
		return check(flag && small == 7 && large == 9 && real == 1.5 && text == "ä" && len(list) == 2 && vector[2] == 0.5 && at.Year() == 2024, "values", raw, list, vector, at)
	})
	told("parameters", func() error {
		var count int
		err := connection.QueryRow(ctx, "select count(*) from items where _id = any($1) and title <> $2", []int64{1, 2}, "x").Scan(&count)
		return errors.Join(err, check(count == 2, "rows", count))
	})
	told("introspect", func() error {
		// The form in which Grafana asks: text, by the simple protocol, several statements at once.
		query := `select floor(extract(epoch from timestamp)/1800)*1800 as "time", count(*) from streams.orders group by 1; select 1`
		results, err := connection.PgConn().Exec(ctx, query).ReadAll()
		if err != nil || len(results) != 2 || results[0].FieldDescriptions[0].DataTypeOID != 701 {
			return errors.Join(err, fmt.Errorf("two results: %v", results))
		}
		kind, err := connection.LoadType(ctx, "_text")
		return errors.Join(err, check(err != nil || kind.OID == 1009, "the type of a list"))
	})
	told("cursors", func() error {
		transaction, err := connection.Begin(ctx)
		if err != nil {
			return err
		}
		defer transaction.Rollback(ctx)
		if _, err = transaction.Exec(ctx, "declare c scroll cursor for select i from range(10) t(i)"); err != nil {
			return err
		}
		var last int64
		if err = transaction.QueryRow(ctx, "fetch last from c").Scan(&last); err != nil {
			return err
		}
		return check(last == 9, "the last row", last)
	})
	told("copy", func() error {
		var out bytes.Buffer
		_, err := connection.PgConn().CopyTo(ctx, &out, "copy (select 1, 'a') to stdout")
		return errors.Join(err, check(out.String() == "1\ta\n", "a row", out.String()))
	})
	told("cancel", func() error {
		short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
		defer stop()
		other, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer other.Close(ctx)
		_, err = other.Exec(short, slow)
		return check(err != nil, "the statement ended by itself")
	})
	told("errors", func() error {
		_, err := connection.Exec(ctx, "select nope from items")
		var fault *pgconn.PgError
		return check(errors.As(err, &fault) && fault.Code == "42703", "an unknown column", err)
	})
	told("pool", func() error {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		return inParallel(func(i int) error {
			var found int
			err := pool.QueryRow(ctx, "select $1::int4", i).Scan(&found)
			return errors.Join(err, check(found == i, "its own answer"))
		})
	})
	told("tls", func() error {
		other, err := pgx.Connect(ctx, secured(url))
		if err != nil {
			return err
		}
		return errors.Join(other.Ping(ctx), other.Close(ctx))
	})
}

// The URL of a connection over TLS that checks the server's certificate and name.
func secured(url string) string {
	return strings.Replace(url, "sslmode=disable", "sslmode=verify-full&sslrootcert="+os.Getenv("INTEROP_CA"), 1)
}

func inParallel(try func(i int) error) error {
	var group sync.WaitGroup
	faults := make([]error, 8)
	for i := range faults {
		group.Add(1)
		go func() { defer group.Done(); faults[i] = try(i) }()
	}
	group.Wait()
	return errors.Join(faults...)
}

// Asks a driver of database/sql; the drivers differ in how they read rows in portions and end a statement.
func withDatabase(driver, url, urlOfTls, table, label string, isFault func(error) bool, cursors, cancel func(*sql.DB) error) {
	database, err := sql.Open(driver, url)
	told("connect", func() error { return errors.Join(err, database.Ping()) })
	placeholder := map[string]string{"postgres": "$1", "mysql": "?"}[driver]
	told("parameters", func() error {
		var title string
		err := database.QueryRow("select title from "+table+" where _id = "+placeholder, 1).Scan(&title)
		return errors.Join(err, check(title == label, "a title", title))
	})
	told("types", func() error {
		rows, err := database.Query("select * from " + table)
		if err != nil {
			return err
		}
		defer rows.Close()
		kinds, err := rows.ColumnTypes()
		count := 0
		for rows.Next() {
			count++
		}
		return errors.Join(err, rows.Err(), check(len(kinds) > 3 && count == 3, "rows", count))
	})
	told("introspect", func() error {
		rows, err := database.Query("select column_name, data_type from information_schema.columns where table_name = "+placeholder+" order by ordinal_position", table)
		if err != nil {
			return err
		}
		defer rows.Close()
		var name, kind string
		rows.Next()
		err = rows.Scan(&name, &kind)
		return errors.Join(err, check(name == "_id" && kind == "bigint", "the first column", name, kind))
	})
	told("cursors", func() error { return cursors(database) })
	told("cancel", func() error { return cancel(database) })
	told("errors", func() error {
		_, err := database.Query("select nope from " + table)
		return check(err != nil && isFault(err), "an unknown column", err)
	})
	told("pool", func() error {
		return inParallel(func(i int) error { _, err := database.Exec("select 1"); return err })
	})
	told("tls", func() error {
		other, err := sql.Open(driver, urlOfTls)
		if err != nil {
			return err
		}
		return errors.Join(other.Ping(), other.Close())
	})
}

// A cursor of a transaction: lib/pq gives all rows of a statement otherwise.
func declared(database *sql.DB) error {
	transaction, err := database.Begin()
	if err != nil {
		return err
	}
	defer transaction.Rollback()
	if _, err = transaction.Exec("declare c scroll cursor for select i from range(10) t(i)"); err != nil {
		return err
	}
	var next, last int64
	err = errors.Join(transaction.QueryRow("fetch next from c").Scan(&next), transaction.QueryRow("fetch last from c").Scan(&last))
	return errors.Join(err, check(next == 0 && last == 9, "rows of a cursor", next, last))
}

// The context of a statement ends, and the driver asks the server to end it.
func cancelledByContext(database *sql.DB) error {
	short, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	begun := time.Now()
	_, err := database.ExecContext(short, slow)
	var fault *pq.Error
	isCancelled := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &fault) && fault.Code == "57014"
	return errors.Join(check(isCancelled && time.Since(begun) < 30*time.Second, "the statement ended otherwise", err), database.Ping())
}

// Rows are read from the connection one by one, and those that are left are skipped.
func streamed(database *sql.DB) error {
	rows, err := database.Query("select range from range(100000)")
	if err != nil {
		return err
	}
	for i := int64(0); i < 1000; i++ {
		var found int64
		if !rows.Next() || rows.Scan(&found) != nil || found != i {
			return errors.Join(rows.Err(), rows.Close(), check(false, "a row", i, found))
		}
	}
	return errors.Join(rows.Close(), database.Ping())
}

// Another connection kills the statement: the driver itself closes its connection only.
func killed(database *sql.DB) error {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	connection, err := database.Conn(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	var number int64
	if err = connection.QueryRowContext(ctx, "select connection_id()").Scan(&number); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { _, err := connection.ExecContext(ctx, slow); ended <- err }()
	for {
		select {
		case err = <-ended:
			var fault *mysql.MySQLError
			return errors.Join(check(errors.As(err, &fault) && fault.Number == 1317, "the statement ended otherwise", err), connection.PingContext(ctx))
		case <-time.After(300 * time.Millisecond):
			// One that comes before the statement ends nothing.
			if _, err = database.Exec(fmt.Sprintf("kill query %d", number)); err != nil {
				return err
			}
		}
	}
}

func main() {
	name, url := os.Args[1], os.Args[2]
	if about, ok := debug.ReadBuildInfo(); ok {
		for _, module := range about.Deps {
			if strings.Contains(module.Path, "/"+strings.Split(name, "/")[0]) || strings.HasSuffix(module.Path, name) {
				fmt.Println("version", strings.TrimPrefix(module.Version, "v"))
				break
			}
		}
	}
	switch name {
	case "pgx":
		withPgx(url)
	case "lib/pq":
		withDatabase("postgres", url, secured(url), "items", "red shoe", func(err error) bool {
			var fault *pq.Error
			return errors.As(err, &fault) && fault.Code == "42703"
		}, declared, cancelledByContext)
	default:
		authority, err := os.ReadFile(os.Getenv("INTEROP_CA"))
		roots := x509.NewCertPool()
		if err != nil || !roots.AppendCertsFromPEM(authority) {
			panic("INTEROP_CA names no certificate")
		}
		mysql.RegisterTLSConfig("own", &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
		withDatabase("mysql", url, url+"?tls=own", "docs", "red apple", func(err error) bool {
			var fault *mysql.MySQLError
			return errors.As(err, &fault) && fault.Number == 1054
		}, streamed, killed)
	}
}
