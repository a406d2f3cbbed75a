//===- WorkQueue.cpp - The search's side, and what people see -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/WorkQueue.h"
#include <cstdlib>

namespace kbrt {

bool submitJob(Database &database, const QueuedJob &job, const std::string &asker,
               DatabaseFailure &failure) {
  return database
      .run("WITH added AS (INSERT INTO kbopt.jobs (name, kind, request, release, device, product, "
           "gpu,"
           " memory, seconds, asker) VALUES ($1, $2, $3, $4, $5, $6, $7, $8::bigint,"
           " $9::double precision, $10) ON CONFLICT (name) DO NOTHING RETURNING device)"
           " SELECT pg_notify('kbopt_jobs', device)::text FROM added",
           {job.name, job.kind, job.request, queueRelease, job.device,
            DatabaseValue::orNull(job.product), DatabaseValue::orNull(job.gpu),
            std::to_string(job.memoryBytes), std::to_string(job.seconds), asker},
           failure)
      .has_value();
}

static unsigned numberIn(const DatabaseRow &row, size_t column) {
  return unsigned(std::strtoul(row[column].value_or("0").c_str(), nullptr, 10));
}

std::optional<WorkerGpu> chooseGpu(Database &database, const std::string &product,
                                   DatabaseFailure &failure) {
  auto rows = database.run(
      "SELECT gpu, max(product) FROM kbopt.workers w WHERE gpu IS NOT NULL AND release = $1 AND NOT"
      " stopping AND ($2 = '' OR product = $2) AND seen > now() - $3::interval GROUP BY gpu ORDER"
      " BY (SELECT count(*) FROM kbopt.jobs j WHERE j.gpu = w.gpu AND state <> 'answered'), gpu"
      " LIMIT 1",
      {queueRelease, product, std::to_string(workerSilenceSeconds) + " seconds"}, failure);
  if (!rows)
    return std::nullopt;
  if (rows->empty())
    return WorkerGpu();
  return WorkerGpu{rows->front()[0].value_or(""), rows->front()[1].value_or("")};
}

std::optional<WorkerCounts> countWorkers(Database &database, const QueuedJob &job,
                                         DatabaseFailure &failure) {
  auto rows = database.run(
      "SELECT count(*) FILTER (WHERE release = $1 AND fits)::text, count(*) FILTER (WHERE release ="
      " $1 AND NOT fits)::text, count(*) FILTER (WHERE release <> $1)::text FROM (SELECT release,"
      " $2 = ANY(devices) AND ($3 = '' OR gpu = $3) AND ($4 = '' OR product = $4) AS fits FROM"
      " kbopt.workers WHERE seen > now() - $5::interval) w",
      {queueRelease, job.device, job.gpu, job.product,
       std::to_string(workerSilenceSeconds) + " seconds"},
      failure);
  if (!rows)
    return std::nullopt;
  const DatabaseRow &row = rows->front();
  return WorkerCounts{numberIn(row, 0), numberIn(row, 1), numberIn(row, 2)};
}

std::optional<JobState> jobState(Database &database, const std::string &name,
                                 DatabaseFailure &failure) {
  auto rows =
      database.run("SELECT state, status, result, observables, worker, asker FROM kbopt.jobs"
                   " WHERE name = $1",
                   {name}, failure);
  if (!rows)
    return std::nullopt;
  JobState state;
  if (rows->empty())
    return state;
  const DatabaseRow &row = rows->front();
  state.kind = row[0] == "answered"  ? JobState::Answered
               : row[0] == "running" ? JobState::Running
                                     : JobState::Waiting;
  state.answer = {row[1].value_or(""), row[2].value_or(""), row[4].value_or(""),
                  row[5].value_or(""), row[3].value_or("")};
  return state;
}

std::optional<std::string> queueStatus(Database &database, DatabaseFailure &failure) {
  const std::string silence = std::to_string(workerSilenceSeconds);
  auto rows = database.run(
      "SELECT json_build_object("
      "'workers', (SELECT coalesce(json_agg(json_build_object('id', id, 'host', host,"
      " 'process', process, 'release', release, 'devices', devices, 'gpu', gpu, 'product', product,"
      " 'arch', arch, 'driver', driver, 'compilers', compilers, 'stopping', stopping,"
      " 'answered', answered, 'upSeconds', extract(epoch FROM now() - started),"
      " 'silentSeconds', extract(epoch FROM now() - seen),"
      " 'job', (SELECT kind FROM kbopt.jobs WHERE worker = w.id AND state = 'running' LIMIT 1))"
      " ORDER BY id), '[]') FROM kbopt.workers w WHERE seen > now() - $1::interval),"
      "'waiting', (SELECT count(*) FROM kbopt.jobs WHERE state = 'waiting'),"
      "'running', (SELECT count(*) FROM kbopt.jobs WHERE state = 'running'),"
      "'answered', (SELECT count(*) FROM kbopt.jobs WHERE state = 'answered'),"
      "'answeredLastMinute', (SELECT count(*) FROM kbopt.jobs WHERE state = 'answered'"
      " AND finished > now() - interval '1 minute'),"
      "'oldestSeconds', (SELECT extract(epoch FROM now() - min(created)) FROM kbopt.jobs"
      " WHERE state <> 'answered'),"
      "'attempts', (SELECT coalesce(sum(attempts), 0) FROM kbopt.jobs),"
      "'searches', (SELECT count(DISTINCT asker) FROM kbopt.jobs WHERE state <> 'answered'),"
      "'failures', (SELECT coalesce(json_object_agg(status, n), '{}') FROM (SELECT status,"
      " count(*) AS n FROM kbopt.jobs WHERE state = 'answered' AND status <> 'ok' GROUP BY status)"
      " f),"
      "'notDone', (SELECT coalesce(json_agg(json_build_object('device', device, 'gpu', gpu,"
      " 'product', product, 'release', release, 'jobs', n)), '[]') FROM (SELECT device, gpu, "
      "product,"
      " release, count(*) AS n FROM kbopt.jobs j WHERE state = 'waiting' AND NOT EXISTS (SELECT"
      " FROM kbopt.workers w WHERE seen > now() - $1::interval AND w.release = j.release"
      " AND j.device = ANY(w.devices) AND (j.gpu IS NULL OR j.gpu = w.gpu) AND (j.product IS NULL "
      "OR"
      " j.product = w.product)) GROUP BY device, gpu, product, release) u),"
      "'blobs', (SELECT count(*) FROM kbopt.blobs),"
      "'blobBytes', (SELECT coalesce(sum(bytes), 0) FROM kbopt.blobs),"
      "'evidence', (SELECT count(*) FROM kbopt.evidence))::text",
      {silence + " seconds"}, failure);
  return rows ? rows->front().front() : std::nullopt;
}

std::optional<unsigned> stopWorkers(Database &database, const std::string &host,
                                    DatabaseFailure &failure) {
  auto rows = database.run("WITH asked AS (UPDATE kbopt.workers SET stopping = true WHERE"
                           " ($1 = '' OR host = $1) AND seen > now() - $2::interval RETURNING id)"
                           " SELECT count(*)::text, pg_notify('kbopt_jobs', 'stop')::text"
                           " FROM asked",
                           {host, std::to_string(workerSilenceSeconds) + " seconds"}, failure);
  if (!rows)
    return std::nullopt;
  return numberIn(rows->front(), 0);
}

bool setQueueSetting(Database &database, const std::string &name, const std::string &value,
                     DatabaseFailure &failure) {
  return database
      .run("INSERT INTO kbopt.settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE"
           " SET value = excluded.value",
           {name, value}, failure)
      .has_value();
}

} // namespace kbrt
