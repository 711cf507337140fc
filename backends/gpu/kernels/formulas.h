// Maps of the formulas of src/scalar. The rows form has a kernel for each formula and type; of any
// strides, which is slow anyway, one kernel has all formulas of a list, and every float up to f32.
#pragma once
#include "kernels/map.h"
#include "scalar/cast.h"
#include "wick/abi/ops/unary.h"

namespace wick::gpu {

// Constants, since nvcc's device code calls no constexpr function of the host's.
template <class F>
inline constexpr bool kHasNumbers = F::op.attributes == attributes<NumberAttributes>;
template <class T, class List>
inline constexpr bool kIsIn = wick::detail::position_in<T>(List{}) < List::kSize;

/// A formula's numbers, a and b of NumberAttributes, in the type that it computes in.
template <class C>
struct Numbers {
  C a, b;
  static Numbers of(const Call& call) {
    if (!(call.op->attributes == attributes<NumberAttributes>)) return {};
    const auto& given = *static_cast<const NumberAttributes*>(call.attributes);
    return {C(given.a), C(given.b)};
  }
};

/// F of elements of T, and its result as a Y; both as they are in memory.
template <class F, class T, class Y>
struct Formula {
  using C = ComputeIn<F, T>;
  Numbers<C> numbers;
  template <class... X>
  WICK_DEVICE Y operator()(X... x) const {
    if constexpr (kHasNumbers<F>)
      return narrow<Y>(F()(widen<C>(x)..., numbers.a, numbers.b));
    else
      return narrow<Y>(F()(widen<C>(x)...));
  }
};

template <class Out, class In, int arity>
using MapOfAlike = Either<arity == 1, MapOf<Out, In>, MapOf<Out, In, In>>;

/// y = F(x) or F(a, b), of elements of T.
template <class F, class T, int arity>
struct FormulaMap : MapOfAlike<Elements<T>, Elements<T>, arity> {
  using Told = Numbers<ComputeIn<F, T>>;
  static Told told(const Call& call) { return Told::of(call); }
  template <class Body>
  static WICK_DEVICE void choose(const Told& told, const Body& body) {
    body(Formula<F, T, T>{told});
  }
};

/// The formula of a list that the call names, of the values that In gives; formulas that are not for
/// those are left out.
template <class List, class Out, class In, int arity>
struct FormulaOf : MapOfAlike<Out, In, arity> {
  using T = typename In::Value;
  struct Told {
    int32 place;  // in the list
    Numbers<Compute<T>> numbers;
  };
  static Told told(const Call& call) {
    return {place_in(*call.op, List{}), Numbers<Compute<T>>::of(call)};
  }
  template <class Body>
  static WICK_DEVICE void choose(const Told& told, const Body& body) {
    choose_of(told, body, List{});
  }

 private:
  template <class... F>
  static int32 place_in(const Op& op, TypeList<F...>) {
    int32 place = 0;
    const bool found = ((op == F::op || (place++, false)) || ...);
    return found ? place : -1;
  }
  template <class Body, class... F>
  static WICK_DEVICE void choose_of(const Told& told, const Body& body, TypeList<F...>) {
    int32 place = 0;
    (try_formula<F>(told, body, place++), ...);
  }
  template <class F, class Body>
  static WICK_DEVICE void try_formula(const Told& told, const Body& body, int32 place) {
    if constexpr (kIsIn<T, typename F::Types>)
      if (told.place == place)
        body(Formula<F, T, typename Out::Value>{
            {ComputeIn<F, T>(told.numbers.a), ComputeIn<F, T>(told.numbers.b)}});
  }
};

/// Whether T is a float that is computed in f32.
template <class T>
inline constexpr bool kIsNarrowFloat = kSame<Compute<T>, float>;
/// How the strided form reads a T: kernels for every float up to f32 are one.
template <class T>
using StridedElements = Either<kIsNarrowFloat<T>, AnyFloat, Elements<T>>;
/// Rows of f8 are not worth a kernel: converting it costs more than finding it.
template <class T>
inline constexpr bool kHasRows = !(kIsFloat<T> && sizeof(T) == 1);

/// What the code of F for T has as elements: integers of T's size that it computes in, so that i32
/// and u32 are one kernel where F wraps.
template <class F, class T>
using CodeElement = Either<kIsFloat<T> || sizeof(T) != sizeof(ComputeIn<F, T>), T, ComputeIn<F, T>>;

template <int arity, class List, class F, class T>
void add_formula_of(KernelList& list) {
  // Every element is read by the thread that writes it, before that.
  constexpr Signature signature{F::op, kDTypeOf<T>, kKernelInPlace};
  using Strided = FormulaOf<List, StridedElements<T>, StridedElements<T>, arity>;
  if constexpr (kHasRows<T>)
    add_map<FormulaMap<F, CodeElement<F, T>, arity>, Strided>(list, signature, signature.dtype);
  else
    add_strided_map<Strided>(list, signature, signature.dtype);
}
template <int arity, class List, class F, class... T>
void add_formula(KernelList& list, TypeList<T...>) {
  (add_formula_of<arity, List, F, T>(list), ...);
}
template <int arity, class... F>
void add_formulas(KernelList& list, TypeList<F...>) {
  (add_formula<arity, TypeList<F...>, F>(list, typename F::Types{}), ...);
}

}  // namespace wick::gpu
