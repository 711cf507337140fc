// FunctionRef: a non-owning reference to a callable.
#pragma once
#include <functional>
#include <utility>

namespace wick {

/// A non-owning reference to a callable, as std::function_ref of C++26: it allocates nothing, and is
/// valid only while the callable lives.
template <class Signature>
class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  FunctionRef() = default;
  template <class F>
  FunctionRef(const F& f)
      : f_(&f),
        call_([](const void* p, A... a) -> R {
          return (*static_cast<const F*>(p))(std::forward<A>(a)...);
        }),
        copy_([](const void* p) -> std::function<R(A...)> { return *static_cast<const F*>(p); }) {}
  explicit operator bool() const { return f_ != nullptr; }
  R operator()(A... a) const { return call_(f_, std::forward<A>(a)...); }
  /// An owning copy of the callable; empty if there is none.
  std::function<R(A...)> copy() const { return f_ ? copy_(f_) : nullptr; }

 private:
  const void* f_ = nullptr;
  R (*call_)(const void*, A...) = nullptr;
  std::function<R(A...)> (*copy_)(const void*) = nullptr;
};

}  // namespace wick
