//===- GraphCalls.cpp - Graphs that are captured from a stream ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Graphs that a host builds node by node, and captures of several streams, are not followed
// (Unsupported.cpp).
//
//===----------------------------------------------------------------------===//
#include "Graphs.h"
#include "Streams.h"

using namespace kbrt;
using cuda::Error;

namespace {
/// cudaStreamCaptureMode.
enum { globalMode, threadLocalMode, relaxedMode };
} // namespace

Graphs &Graphs::get() {
  static Graphs *graphs = new Graphs;
  return *graphs;
}

Error Graphs::add(GraphNode node) {
  capture->nodes.push_back(std::move(node));
  return cuda::success;
}

Error Graphs::checkWait() const { return capture ? cuda::captureUnsupported : cuda::success; }

Error Graphs::checkAllocation() const {
  return capture && capture->mode != relaxedMode ? cuda::captureUnsupported : cuda::success;
}

Error Graphs::begin(uint32_t stream, int mode) {
  if (stream == 0)
    return cuda::captureUnsupported;
  if (capture)
    Session::get().stop(Ending::Unsupported,
                        "a capture of two streams is not supported by the recorder");
  capture = Capture{stream, mode, {}};
  return cuda::success;
}

Error Graphs::end(uint32_t stream, void **graph) {
  if (!captures(stream))
    return cuda::illegalState;
  *graph = keep(std::move(capture->nodes));
  capture.reset();
  return cuda::success;
}

void *Graphs::keep(Graph graph) {
  // Handles look like aligned pointers.
  const uintptr_t handle = (next++ + 16) * 64;
  graphs[handle] = std::move(graph);
  return reinterpret_cast<void *>(handle);
}

Error Graphs::instantiate(void **executable, void *graph) {
  auto found = graphs.find(reinterpret_cast<uintptr_t>(graph));
  if (!executable || found == graphs.end())
    return cuda::invalidValue;
  *executable = keep(Graph(found->second));
  return cuda::success;
}

Error Graphs::launch(Session &session, void *executable, uint32_t stream) {
  auto found = graphs.find(reinterpret_cast<uintptr_t>(executable));
  if (found == graphs.end())
    return cuda::invalidValue;
  if (captures(stream))
    session.stop(Ending::Unsupported,
                 "a graph in a captured stream is not supported by the recorder");
  for (const GraphNode &node : found->second)
    if (Error error = node(session, stream))
      return error;
  return cuda::success;
}

std::optional<size_t> Graphs::nodeCount(void *graph) const {
  auto found = graphs.find(reinterpret_cast<uintptr_t>(graph));
  return found == graphs.end() ? std::nullopt : std::optional(found->second.size());
}

KB_API Error cudaStreamBeginCapture(cuda::Stream stream, int mode) {
  return apiCall(__func__, [&](Session &) {
    auto id = Streams::get().find(stream);
    return id ? Graphs::get().begin(*id, mode) : Error{cuda::invalidResourceHandle};
  });
}
KB_PER_THREAD(cudaStreamBeginCapture, _ptsz)

KB_API Error cudaStreamEndCapture(cuda::Stream stream, void **graph) {
  return apiCall(__func__, [&](Session &) {
    auto id = Streams::get().find(stream);
    if (!id || !graph)
      return Error{id ? cuda::invalidValue : cuda::invalidResourceHandle};
    return Graphs::get().end(*id, graph);
  });
}
KB_PER_THREAD(cudaStreamEndCapture, _ptsz)

KB_API Error cudaStreamIsCapturing(cuda::Stream stream, int *status) {
  return apiCall(__func__, [&](Session &) {
    auto id = Streams::get().find(stream);
    if (!status || !id)
      return Error{status ? cuda::invalidResourceHandle : cuda::invalidValue};
    *status = Graphs::get().captures(*id) ? 1 : 0;
    return Error{cuda::success};
  });
}
KB_PER_THREAD(cudaStreamIsCapturing, _ptsz)

// Its further arguments, which CUDA 11 and 12 have differently, ask for nothing that a plan would
// show.
KB_API Error cudaGraphInstantiate(void **executable, void *graph) {
  return apiCall(__func__, [&](Session &) { return Graphs::get().instantiate(executable, graph); });
}
KB_API Error cudaGraphInstantiateWithFlags(void **executable, void *graph) {
  return apiCall(__func__, [&](Session &) { return Graphs::get().instantiate(executable, graph); });
}

KB_API Error cudaGraphLaunch(void *executable, cuda::Stream stream) {
  return apiCall(__func__, [&](Session &session) {
    auto id = Streams::get().find(stream);
    return id ? Graphs::get().launch(session, executable, *id) : Error{cuda::invalidResourceHandle};
  });
}
KB_PER_THREAD(cudaGraphLaunch, _ptsz)

KB_API Error cudaGraphUpload(void *, cuda::Stream) {
  return apiCall(__func__, [](Session &) { return Error{cuda::success}; });
}
KB_PER_THREAD(cudaGraphUpload, _ptsz)

KB_API Error cudaGraphGetNodes(void *graph, void **nodes, size_t *count) {
  return apiCall(__func__, [&](Session &session) {
    auto known = Graphs::get().nodeCount(graph);
    if (!known || !count)
      return Error{cuda::invalidValue};
    if (nodes)
      session.stop(Ending::Unsupported,
                   "cudaGraphGetNodes is supported by the recorder for their number alone");
    *count = *known;
    return Error{cuda::success};
  });
}

static Error destroy(const char *call, void *graph) {
  return apiCall(call, [&](Session &) {
    return Error{Graphs::get().destroy(graph) ? cuda::success : cuda::invalidValue};
  });
}
KB_API Error cudaGraphDestroy(void *graph) { return destroy(__func__, graph); }
KB_API Error cudaGraphExecDestroy(void *executable) { return destroy(__func__, executable); }
