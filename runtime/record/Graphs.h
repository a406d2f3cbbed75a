//===- Graphs.h - Captured streams and the graphs made of them ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a stream is given while it is captured: each call becomes a node that does what the
// call would have done, on the stream that the graph is launched on. A plan has no graphs: it holds
// the steps of every launch of one.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_GRAPHS_H
#define KBRT_RECORD_GRAPHS_H

#include "Session.h"
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace kbrt {

/// A call in a graph; given the number of the stream that the graph is launched on.
using GraphNode = std::function<cuda::Error(Session &, uint32_t stream)>;
using Graph = std::vector<GraphNode>;

/// One stream is captured at a time. Used under `DeviceLock`.
class Graphs {
public:
  static Graphs &get();

  /// Whether calls on \p stream become nodes.
  bool captures(uint32_t stream) const { return capture && capture->stream == stream; }
  bool isCapturing() const { return capture.has_value(); }
  cuda::Error add(GraphNode node);
  /// The error of a call that waits, or that allocates, while a stream is captured; success if it
  /// may go on.
  cuda::Error checkWait() const;
  cuda::Error checkAllocation() const;

  cuda::Error begin(uint32_t stream, int mode);
  cuda::Error end(uint32_t stream, void **graph);
  cuda::Error instantiate(void **executable, void *graph);
  cuda::Error launch(Session &session, void *executable, uint32_t stream);
  /// Nodes of a graph; nothing if there is no such graph.
  std::optional<size_t> nodeCount(void *graph) const;
  bool destroy(void *graph) { return graphs.erase(reinterpret_cast<uintptr_t>(graph)) > 0; }

private:
  struct Capture {
    uint32_t stream;
    int mode;
    Graph nodes;
  };
  void *keep(Graph graph);

  std::optional<Capture> capture;
  std::map<uintptr_t, Graph> graphs; ///< and executables, by handle
  uintptr_t next = 1;
};

} // namespace kbrt

#endif // KBRT_RECORD_GRAPHS_H
