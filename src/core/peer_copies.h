// Whether devices of a backend copy to each other. On some machines such copies fail, or give wrong
// bytes and no error, so each pair is tested before its first copy.
#pragma once
#include <string>

namespace wick {

class Device;
class DeviceState;

/// "" if a test of copies from one device to another of its backend has passed; else the reason why
/// bytes must go through host memory. Tests a pair once, which waits for both devices: not while
/// this thread records a graph.
const std::string& peer_copy_failure(const DeviceState& from, const DeviceState& to);

/// Whether bytes go straight from one device to another: both are of a backend that copies so, and
/// the test of such copies has passed.
bool copies_directly(const Device& from, const Device& to);

}  // namespace wick
