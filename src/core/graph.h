// Whether the calling thread records a graph, and who is told of a graph's launches.
#pragma once
#include "wick/core/graph.h"

namespace wick {

/// Whether this thread is in Graph::capture of the device.
bool is_capturing(const Device& device);

/// Is told of each launch of the graphs that it listens to, by the thread that launches. Graphs
/// keep it alive, and release it after their work.
class LaunchListener {
 public:
  virtual ~LaunchListener() = default;
  /// An error that it throws keeps the graph from being launched.
  virtual void before_launch() = 0;
  virtual void after_launch() = 0;
};

/// Lets the listener hear the launches of the graph that this thread is recording, once each.
void listen_to_launches(std::shared_ptr<LaunchListener> listener);

}  // namespace wick
