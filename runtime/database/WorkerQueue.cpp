//===- WorkerQueue.cpp - The worker's side --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/WorkQueue.h"
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace kbrt {

/// Of files, where the settings do not say.
static constexpr uint64_t defaultKeptBytes = uint64_t(64) << 30;

static std::string secondsText(double seconds) { return std::to_string(seconds) + " seconds"; }

/// As PostgreSQL writes an array of names.
static std::string arrayOf(const std::vector<std::string> &names) {
  std::string text = "{";
  for (const std::string &name : names)
    text += (text.size() > 1 ? "," : "") + name;
  return text + "}";
}

bool WorkerQueue::announce(DatabaseFailure &failure) {
  return database
      .run("INSERT INTO kbopt.workers (id, host, process, release, devices, gpu, product, arch,"
           " driver, compilers) VALUES ($1, $2, $3::bigint, $4, $5::text[], $6, $7, $8, $9, $10)"
           " ON CONFLICT (id) DO UPDATE SET seen = now()",
           {facts.id, facts.host, std::to_string(facts.process), queueRelease,
            arrayOf(facts.devices), DatabaseValue::orNull(facts.gpu),
            DatabaseValue::orNull(facts.product), DatabaseValue::orNull(facts.arch),
            DatabaseValue::orNull(facts.driver), DatabaseValue::orNull(facts.compilers)},
           failure)
      .has_value();
}

bool WorkerQueue::greet(bool &isStopped, DatabaseFailure &failure) {
  auto rows = database.run("UPDATE kbopt.workers SET seen = now() WHERE id = $1"
                           " RETURNING stopping::text",
                           {facts.id}, failure);
  if (!rows)
    return false;
  if (rows->empty()) // forgotten, as after a long sleep
    return announce(failure);
  isStopped = rows->front().front() == "true";
  return true;
}

bool WorkerQueue::depart(DatabaseFailure &failure) {
  return database.run("DELETE FROM kbopt.workers WHERE id = $1", {facts.id}, failure).has_value();
}

std::optional<TakenJob> WorkerQueue::take(DatabaseFailure &failure) {
  auto rows = database.run(
      "UPDATE kbopt.jobs SET state = 'running', worker = $1, attempts = attempts + 1,"
      " started = now(), lease = now() + $2::interval WHERE id = (SELECT id FROM kbopt.jobs WHERE"
      " state = 'waiting' AND release = $3 AND device = ANY($4::text[]) AND (gpu IS NULL OR gpu ="
      " $5) AND (product IS NULL OR product = $6) ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) "
      "RETURNING id::text, name, kind, request,"
      " attempts::text, memory::text, seconds::text",
      {facts.id, secondsText(leaseSeconds), queueRelease, arrayOf(facts.devices), facts.gpu,
       facts.product},
      failure);
  if (!rows || rows->empty())
    return std::nullopt;
  const DatabaseRow &row = rows->front();
  auto text = [&](size_t column) { return row[column].value_or(""); };
  return TakenJob{text(0),
                  text(1),
                  text(2),
                  text(3),
                  text(4),
                  std::strtoull(text(5).c_str(), nullptr, 10),
                  std::strtod(text(6).c_str(), nullptr)};
}

/// Whether a statement that returns a row for a job of this worker found it.
static bool isOwn(const std::optional<DatabaseRows> &rows, DatabaseFailure &failure) {
  if (!rows)
    return false;
  if (rows->empty())
    failure = {};
  return !rows->empty();
}

bool WorkerQueue::renew(const TakenJob &job, DatabaseFailure &failure) {
  return isOwn(database.run("UPDATE kbopt.jobs SET lease = now() + $4::interval WHERE id ="
                            " $1::bigint AND worker = $2 AND attempts = $3::integer AND state ="
                            " 'running' RETURNING id::text",
                            {job.id, facts.id, job.attempt, secondsText(leaseSeconds)}, failure),
               failure);
}

bool WorkerQueue::finish(const TakenJob &job, const QueueAnswer &answer, DatabaseFailure &failure) {
  // The second condition makes the statement mean the same when it is repeated.
  return isOwn(
      database.run("WITH done AS (UPDATE kbopt.jobs SET state = 'answered', status = $4, result ="
                   " $5, observables = $6, finished = coalesce(finished, now()) WHERE id ="
                   " $1::bigint AND worker = $2 AND attempts = $3::integer RETURNING asker, name),"
                   " counted AS (UPDATE kbopt.workers SET answered = answered + 1, seen = now()"
                   " WHERE id = $2)"
                   " SELECT pg_notify(left('kbopt_' || asker, 63), name)::text FROM done",
                   {job.id, facts.id, job.attempt, answer.status, answer.result,
                    DatabaseValue::orNull(answer.observables)},
                   failure),
      failure);
}

bool WorkerQueue::giveBack(const TakenJob &job, DatabaseFailure &failure) {
  return isOwn(database.run("WITH back AS (UPDATE kbopt.jobs SET state = 'waiting', attempts ="
                            " attempts - 1, worker = NULL, lease = NULL WHERE id = $1::bigint AND"
                            " worker = $2 AND attempts = $3::integer AND state = 'running'"
                            " RETURNING device) SELECT pg_notify('kbopt_jobs', device)::text"
                            " FROM back",
                            {job.id, facts.id, job.attempt}, failure),
               failure);
}

std::optional<unsigned> WorkerQueue::reclaim(DatabaseFailure &failure) {
  const nlohmann::json crash = {
      {"version", 1},
      {"status", "crash"},
      {"message", "the job took down " + std::to_string(mostJobAttempts) + " workers"},
      {"launches", nlohmann::json::array()}};
  auto rows = database.run(
      "WITH late AS (SELECT id FROM kbopt.jobs WHERE state = 'running' AND lease < now()"
      " FOR UPDATE SKIP LOCKED), again AS (UPDATE kbopt.jobs j SET state = CASE WHEN attempts >="
      " $1::integer THEN 'answered' ELSE 'waiting' END, status = CASE WHEN attempts >= $1::integer"
      " THEN 'crash' END, result = CASE WHEN attempts >= $1::integer THEN $2 END, finished = CASE"
      " WHEN attempts >= $1::integer THEN now() END, worker = NULL, lease = NULL FROM late WHERE"
      " j.id = late.id RETURNING j.asker, j.name, j.state)"
      " SELECT pg_notify(CASE WHEN state = 'answered' THEN left('kbopt_' || asker, 63) ELSE "
      "'kbopt_jobs' END,"
      " name)::text FROM again",
      {std::to_string(mostJobAttempts), crash.dump()}, failure);
  return rows ? std::optional<unsigned>(rows->size()) : std::nullopt;
}

std::vector<std::string> WorkerQueue::tidy(double seconds, DatabaseFailure &failure) {
  std::vector<std::string> outside;
  const std::string age = secondsText(seconds);
  // A search that still waits asks again.
  database.run(
      "DELETE FROM kbopt.jobs WHERE (state = 'answered' AND finished < now() - $1::interval)"
      " OR (state = 'waiting' AND created < now() - $1::interval)",
      {age}, failure);
  database.run("DELETE FROM kbopt.workers WHERE seen < now() - $1::interval", {age}, failure);
  // The sum of what was used later than a file, and its own size, say whether there is room for it.
  auto rows = database.run(
      "DELETE FROM kbopt.blobs b USING (SELECT digest, sum(bytes) OVER (ORDER BY used DESC, digest)"
      " > coalesce((SELECT value::bigint FROM kbopt.settings WHERE name = 'keep-bytes'), "
      "$2::bigint)"
      " AS many FROM kbopt.blobs) s WHERE s.digest = b.digest AND (used < now() - $1::interval OR"
      " (many AND used < now() - interval '10 minutes')) AND NOT EXISTS (SELECT FROM kbopt.jobs"
      " WHERE state <> 'answered' AND strpos(request, b.digest) > 0) RETURNING CASE WHEN content IS"
      " NULL THEN b.digest END",
      {age, std::to_string(defaultKeptBytes)}, failure);
  for (const DatabaseRow &row : rows.value_or(DatabaseRows()))
    if (row[0])
      outside.push_back(*row[0]);
  return outside;
}

} // namespace kbrt
