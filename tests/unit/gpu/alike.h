// Whether two functions are called alike, for tests that compare our own declarations of a vendor's
// functions with the vendor's.
#pragma once
#include <type_traits>

namespace wick::gpu {

// What a type is when passed: all pointers are one, an enumeration is an int.
template <class T>
using Passed =
    std::conditional_t<std::is_pointer_v<T>, void*,
                       std::conditional_t<std::is_enum_v<T> && sizeof(T) == sizeof(int), int, T>>;
template <class F>
struct Abi;
template <class R, class... A>
struct Abi<R (*)(A...)> {
  using type = Passed<R> (*)(Passed<A>...);
};
template <class A, class B>
constexpr bool kAlike = std::is_same_v<typename Abi<std::remove_cv_t<A>>::type,
                                       typename Abi<std::remove_cv_t<B>>::type>;

}  // namespace wick::gpu
