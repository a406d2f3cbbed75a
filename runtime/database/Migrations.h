//===- Migrations.h - The tables, as SQL ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRT_DATABASE_MIGRATIONS_H
#define KBRT_DATABASE_MIGRATIONS_H

namespace kbrt {

/// The first brings an empty database to version 1, the next to 2, and so on. What was released
/// once is never changed: add another one.
inline constexpr const char *migrations[] = {
    R"(
CREATE TABLE kbopt.settings (
  name text PRIMARY KEY,
  value text NOT NULL
);
CREATE TABLE kbopt.workers (
  id text PRIMARY KEY,
  host text NOT NULL,
  process bigint NOT NULL,
  release text NOT NULL,
  devices text[] NOT NULL,
  gpu text, product text, arch text, driver text, compilers text,
  started timestamptz NOT NULL DEFAULT now(),
  seen timestamptz NOT NULL DEFAULT now(),
  stopping boolean NOT NULL DEFAULT false,
  answered bigint NOT NULL DEFAULT 0
);
CREATE TABLE kbopt.jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text UNIQUE NOT NULL,
  kind text NOT NULL,
  request text NOT NULL,
  release text NOT NULL,
  device text NOT NULL,
  product text, gpu text,
  memory bigint NOT NULL DEFAULT 0,
  seconds double precision NOT NULL DEFAULT 0,
  asker text NOT NULL,
  created timestamptz NOT NULL DEFAULT now(),
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'answered')),
  attempts integer NOT NULL DEFAULT 0,
  worker text, started timestamptz, lease timestamptz,
  status text, result text, observables text, finished timestamptz
);
CREATE INDEX jobs_waiting ON kbopt.jobs (id) WHERE state = 'waiting';
CREATE INDEX jobs_running ON kbopt.jobs (lease) WHERE state = 'running';
CREATE INDEX jobs_finished ON kbopt.jobs (finished) WHERE state = 'answered';
CREATE TABLE kbopt.blobs (
  digest text PRIMARY KEY,
  bytes bigint NOT NULL,
  content bytea,
  used timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE kbopt.blobs ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX blobs_used ON kbopt.blobs (used);
CREATE TABLE kbopt.answers (
  kind text NOT NULL, request text NOT NULL,
  response bytea NOT NULL, digest text NOT NULL,
  PRIMARY KEY (kind, request)
);
CREATE TABLE kbopt.evidence (
  id text PRIMARY KEY,
  made text NOT NULL,
  line text NOT NULL
);
)",
};

/// What the roles may do; repeated after each migration.
inline constexpr const char *grants = R"(
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'kbopt_worker') THEN
    GRANT USAGE ON SCHEMA kbopt TO kbopt_worker;
    GRANT SELECT ON ALL TABLES IN SCHEMA kbopt TO kbopt_worker;
    GRANT INSERT, UPDATE, DELETE ON kbopt.workers, kbopt.blobs TO kbopt_worker;
    GRANT UPDATE (state, attempts, worker, started, lease, status, result, observables, finished),
          DELETE ON kbopt.jobs TO kbopt_worker;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'kbopt_search') THEN
    GRANT USAGE ON SCHEMA kbopt TO kbopt_search;
    GRANT SELECT ON ALL TABLES IN SCHEMA kbopt TO kbopt_search;
    GRANT INSERT (name, kind, request, release, device, product, gpu, memory, seconds, asker)
          ON kbopt.jobs TO kbopt_search;
    GRANT INSERT ON kbopt.blobs, kbopt.answers, kbopt.evidence TO kbopt_search;
    GRANT UPDATE (used) ON kbopt.blobs TO kbopt_search;
    GRANT UPDATE ON kbopt.evidence TO kbopt_search;
    GRANT UPDATE (stopping) ON kbopt.workers TO kbopt_search;
  END IF;
END $$;
)";

} // namespace kbrt

#endif // KBRT_DATABASE_MIGRATIONS_H
