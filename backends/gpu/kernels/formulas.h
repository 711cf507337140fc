// Maps of the formulas of src/scalar. One kernel holds many formulas and selects one at run time.
// Formulas with long code (F::kLong) have kernels of their own, so that the short ones do not pay
// for their registers. A kernel also reads every float dtype up to f32; only the rows of f32, which
// memory bandwidth limits, have a kernel for that dtype alone.
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
template <class F>
inline constexpr bool kIsLong = requires {
  requires F::kLong;
};

/// A formula's numbers, a and b of NumberAttributes, in its compute type.
template <class C>
struct Numbers {
  C a, b;
  static Numbers of(const Call& call) {
    if (!(call.op->attributes == attributes<NumberAttributes>)) return {};
    const auto& given = *static_cast<const NumberAttributes*>(call.attributes);
    return {C(given.a), C(given.b)};
  }
};

/// F of elements of T, with the result as a Y; T and Y are the types in memory.
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

/// The formula of Table::Formulas that the call names, applied to the values of In. The kernel
/// contains the formulas that accept these and are long, or short, according to is_long.
template <class Table, bool is_long, class Out, class In, int arity>
struct FormulaOf : MapOfAlike<Out, In, arity> {
  static constexpr bool kIsBusy = is_long;
  using Input = In;
  using T = typename In::Value;
  struct Params {
    int32 place;  // in the list
    Numbers<Compute<T>> numbers;
  };
  static Params params(const Call& call) {
    return {place_in(*call.op, typename Table::Formulas{}), Numbers<Compute<T>>::of(call)};
  }
  template <class Body>
  static WICK_DEVICE void choose(const Params& params, const Body& body) {
    choose_of(params, body, typename Table::Formulas{});
  }

 private:
  template <class... F>
  static int32 place_in(const Op& op, TypeList<F...>) {
    int32 place = 0;
    const bool found = ((op == F::op || (place++, false)) || ...);
    return found ? place : -1;
  }
  template <class Body, class... F>
  static WICK_DEVICE void choose_of(const Params& params, const Body& body, TypeList<F...>) {
    int32 place = 0;
    (try_formula<F>(params, body, place++), ...);
  }
  template <class F, class Body>
  static WICK_DEVICE void try_formula(const Params& params, const Body& body, int32 place) {
    if constexpr (kIsIn<T, typename F::Types> && kIsLong<F> == is_long)
      if (params.place == place)
        body(Formula<F, T, typename Out::Value>{
            {ComputeIn<F, T>(params.numbers.a), ComputeIn<F, T>(params.numbers.b)}});
  }
};

/// Whether T is a float that is computed in f32.
template <class T>
inline constexpr bool kIsNarrowFloat = kSame<Compute<T>, float>;
/// How kernels read a T: one kernel reads every float dtype up to f32, selected at run time.
template <class T>
using AnyAlike = Either<kIsNarrowFloat<T>, AnyFloat, Elements<T>>;
/// The same in rows of short formulas, where f32 has a kernel of its own.
template <class T>
using RowsAlike = Either<kIsNarrowFloat<T> && !kSame<T, float>, NarrowFloat, Elements<T>>;

/// Adds the kernels of one formula and dtype, whose results are of T or bool.
template <class Table, int arity, class F, class T>
void add_formula_of(KernelList& list) {
  constexpr bool is_long = kIsLong<F>;
  using Strided = AnyAlike<T>;
  using Rows = Either<is_long, Strided, RowsAlike<T>>;
  using Truths = Elements<bool>;
  constexpr bool is_truth = Table::kGivesTruths;
  // Every element is read by the thread that writes it, before that.
  constexpr Signature signature{F::op, kDTypeOf<T>, is_truth ? 0 : uint32(kKernelInPlace)};
  add_map<FormulaOf<Table, is_long, Either<is_truth, Truths, Rows>, Rows, arity>,
          FormulaOf<Table, is_long, Either<is_truth, Truths, Strided>, Strided, arity>>(
      list, signature, signature.dtype);
}
template <class Table, int arity, class F, class... T>
void add_formula(KernelList& list, TypeList<T...>) {
  (add_formula_of<Table, arity, F, T>(list), ...);
}
template <class Table, int arity, class... F>
void add_listed(KernelList& list, TypeList<F...>) {
  (add_formula<Table, arity, F>(list, typename F::Types{}), ...);
}
/// Adds the kernels of Table::Formulas.
template <class Table, int arity>
void add_formulas(KernelList& list) {
  add_listed<Table, arity>(list, typename Table::Formulas{});
}

}  // namespace wick::gpu
