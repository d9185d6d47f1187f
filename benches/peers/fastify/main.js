'use strict';
// The processes: a primary that makes the tables and hands out connections, and workers that answer.

const cluster = require('node:cluster');
const fs = require('node:fs');
const path = require('node:path');
const pg = require('pg');
const { build } = require('./app');

const DATABASE_URL = required('DATABASE_URL');
const TOKEN = required('TOKEN');
const PORT = Number(required('LISTEN_PORT'));

// Two, since on two cores shared with PostgreSQL and the client one process is at its limit before PostgreSQL is: its own
// work for a new order takes about twice the time of PostgreSQL's. Measured: at most 1,040 new orders a second with one,
// up to 1,900 with two; the machine was not idle, so only the order of the two counts.
const PROCESSES = Number(process.env.PROCESSES ?? 2);
// Of each process: with two, more than one for each of 32 clients, and far fewer than PostgreSQL allows.
const POOL_SIZE = Number(process.env.POOL_SIZE ?? 20);

function required(name) {
  const value = process.env[name];
  if (!value) {
    console.error(`${name} is missing`);
    process.exit(2);
  }
  return value;
}

async function createTables() {
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  await client.query(fs.readFileSync(path.join(__dirname, '..', 'schema.sql'), 'utf8'));
  await client.end();
}

async function primary() {
  // Here and not in the workers, where two would race.
  await createTables();
  let listening = 0;
  cluster.on('listening', (_worker, address) => {
    listening += 1;
    if (listening === PROCESSES) console.log(`listening on http://127.0.0.1:${address.port}`);
  });
  let stopping = false;
  cluster.on('exit', (worker, code, signal) => {
    if (!stopping) {
      // A bench wants to hear of it, rather than have it hidden by another worker.
      console.error(`worker ${worker.process.pid} ended (${signal ?? code})`);
      process.exit(1);
    }
    if (Object.keys(cluster.workers).length === 0) process.exit(0);
  });
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      stopping = true;
      for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM');
      setTimeout(() => {
        for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGKILL');
      }, 700).unref();
    });
  }
  // With port 0 the workers get one free port, the same for all. They end by themselves when this process is gone.
  for (let n = 0; n < PROCESSES; n += 1) cluster.fork();
}

async function worker() {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: POOL_SIZE, idleTimeoutMillis: 0 });
  // Without this, an idle connection that PostgreSQL closes would end the process.
  pool.on('error', (error) => console.error(error));
  const app = build({ pool, token: TOKEN });
  process.on('SIGINT', () => {}); // Ctrl-C reaches all processes; the primary sends SIGTERM.
  process.on('SIGTERM', async () => {
    await app.close();
    await pool.end();
    process.exit(0);
  });
  await app.listen({ host: '127.0.0.1', port: PORT });
}

(cluster.isPrimary ? primary() : worker()).catch((error) => {
  console.error(error);
  process.exit(1);
});
