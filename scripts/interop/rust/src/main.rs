//! Asks the Postgres and MySQL wires with sqlx. Prints a line for each thing that it tries.
use futures_util::TryStreamExt;
use sqlx::{mysql::MySqlPoolOptions, postgres::PgPoolOptions, Executor, Row, Statement};
use std::{env, time::Duration};

type Tried = Result<(), Box<dyn std::error::Error>>;

fn told(what: &str, tried: Tried) {
    match tried {
        Ok(()) => println!("{what} ok"),
        Err(error) => println!("{what} no {}", error.to_string().replace('\n', " ")),
    }
}

fn check(holds: bool, what: &str) -> Tried {
    if holds { Ok(()) } else { Err(what.into()) }
}

async fn postgres(url: &str) -> Tried {
    let pool = PgPoolOptions::new().max_connections(4).acquire_timeout(Duration::from_secs(20)).connect(url).await;
    let pool = match pool {
        Ok(pool) => pool,
        Err(error) => return Ok(told("connect", Err(error.into()))),
    };
    told("connect", Ok(()));
    told("types", async {
        let row = sqlx::query(
            "select true, 7::int2, 8::int4, 9::int8, 1.5::float4, 2.5::float8, 'ä', '\\x00ff'::bytea, array[1, 2]::int4[], v \
             from items where _id = 1",
        )
        .fetch_one(&pool)
        .await?;
        check(row.try_get::<bool, _>(0)? && row.try_get::<i16, _>(1)? == 7 && row.try_get::<i32, _>(2)? == 8, "small")?;
        check(row.try_get::<i64, _>(3)? == 9 && row.try_get::<f32, _>(4)? == 1.5 && row.try_get::<f64, _>(5)? == 2.5, "numbers")?;
        check(row.try_get::<String, _>(6)? == "ä" && row.try_get::<Vec<i32>, _>(8)? == [1, 2], "text and arrays")?;
        check(row.try_get::<Vec<f32>, _>(9)? == [1.0, 0.0, 0.5], "a vector")
    }.await);
    told("parameters", async {
        let found: (String,) = sqlx::query_as("select title from items where _id = $1").bind(2_i64).fetch_one(&pool).await?;
        check(found.0 == "blue hat", "by number")?;
        let many: Vec<(i64,)> = sqlx::query_as("select _id from items where _id = any($1) order by 1").bind(vec![3_i64, 1]).fetch_all(&pool).await?;
        check(many == [(1,), (3,)], "by an array")
    }.await);
    told("introspect", async {
        // What `query!` asks for when a program is compiled.
        let statement = pool.prepare("select _id, title from items where _id = $1").await?;
        check(statement.columns().len() == 2, "columns of a statement")?;
        let described = pool.describe("select _id, title from items where _id = $1").await?;
        check(described.columns().len() == 2, "its description")
    }.await);
    told("cursors", async {
        let mut rows = sqlx::query("select i from range(2500) t(i)").fetch(&pool);
        let mut count = 0;
        while rows.try_next().await?.is_some() { count += 1; }
        check(count == 2500, "a stream of rows")
    }.await);
    told("copy", async {
        let mut connection = pool.acquire().await?;
        let mut stream = connection.copy_out_raw("copy (select 1, 'a') to stdout").await?;
        let mut bytes = Vec::new();
        while let Some(part) = stream.try_next().await? { bytes.extend_from_slice(&part); }
        check(bytes == b"1\ta\n", "a row")
    }.await);
    told("errors", async {
        let error = sqlx::query("select nope from items").fetch_all(&pool).await.err();
        let code = error.as_ref().and_then(|each| each.as_database_error()).and_then(|each| each.code());
        check(code.as_deref() == Some("42703"), "an unknown column")
    }.await);
    told("pool", async {
        let mut tasks = Vec::new();
        for i in 0..8_i64 {
            let pool = pool.clone();
            tasks.push(tokio::spawn(async move { sqlx::query_scalar::<_, i64>("select $1::int8").bind(i).fetch_one(&pool).await }));
        }
        for (i, task) in tasks.into_iter().enumerate() { check(task.await?? == i as i64, "its own answer")?; }
        Ok(())
    }.await);
    told("tls", tls::<sqlx::Postgres>(url, "sslmode=disable", "sslmode=verify-full&sslrootcert=").await);
    Ok(())
}

/// Connects to a URL in which TLS, with the server's certificate and name checked, takes the place of none.
async fn tls<DB: sqlx::Database>(url: &str, without: &str, with: &str) -> Tried {
    use sqlx::Connection;
    let url = url.replace(without, &format!("{with}{}", env::var("INTEROP_CA")?));
    let mut connection = DB::Connection::connect(&url).await?;
    Ok(connection.ping().await?)
}

async fn mysql(url: &str) -> Tried {
    let pool = MySqlPoolOptions::new().max_connections(4).acquire_timeout(Duration::from_secs(20)).connect(url).await;
    let pool = match pool {
        Ok(pool) => pool,
        Err(error) => return Ok(told("connect", Err(error.into()))),
    };
    told("connect", Ok(()));
    told("types", async {
        let row = sqlx::query("SELECT _id, title, price, sold FROM docs WHERE _id = 1").fetch_one(&pool).await?;
        check(row.try_get::<i64, _>(0)? == 1 && row.try_get::<String, _>(1)? == "red apple", "a row")?;
        check(row.try_get::<f64, _>(2)? == 1.5 && row.try_get::<bool, _>(3)?, "its numbers")
    }.await);
    told("parameters", async {
        let found: (i64,) = sqlx::query_as("SELECT _id FROM docs WHERE title = ?").bind("grüner Apfel").fetch_one(&pool).await?;
        check(found.0 == 2, "by text")
    }.await);
    told("introspect", async {
        let described = pool.describe("SELECT _id, title FROM docs WHERE _id = ?").await?;
        check(described.columns().len() == 2, "columns of a statement")
    }.await);
    told("cursors", async {
        let mut rows = sqlx::query("SELECT range FROM range(2500)").fetch(&pool);
        let mut count = 0;
        while rows.try_next().await?.is_some() { count += 1; }
        check(count == 2500, "a stream of rows")
    }.await);
    told("cancel", async {
        let mut connection = pool.acquire().await?;
        let number: u64 = sqlx::query("SELECT CONNECTION_ID()").fetch_one(&mut *connection).await?.try_get_unchecked(0)?;
        let running = sqlx::query("SELECT SUM(a.range * b.range) FROM range(100000) a, range(100000) b").fetch_all(&mut *connection);
        tokio::pin!(running);
        // Another connection kills it; one that comes before the statement ends nothing.
        let ended = loop {
            tokio::select! {
                ended = &mut running => break ended,
                _ = tokio::time::sleep(Duration::from_millis(300)) => { pool.execute(format!("KILL QUERY {number}").as_str()).await?; }
            }
        };
        check(ended.is_err_and(|each| each.to_string().contains("1317")), "a killed statement")
    }.await);
    told("errors", async {
        let error = sqlx::query("SELECT nope FROM docs").fetch_all(&pool).await.err();
        check(error.is_some_and(|each| each.to_string().contains("nope")), "an unknown column")
    }.await);
    told("pool", async {
        for _ in 0..8 { sqlx::query("SELECT 1").execute(&pool).await?; }
        Ok(())
    }.await);
    told("tls", tls::<sqlx::MySql>(url, "ssl-mode=DISABLED", "ssl-mode=VERIFY_IDENTITY&ssl-ca=").await);
    Ok(())
}

#[tokio::main]
async fn main() -> Tried {
    println!("version sqlx 0.8");
    let url = env::args().nth(1).ok_or("a URL is needed")?;
    if url.starts_with("postgres") { postgres(&url).await } else { mysql(&url).await }
}
