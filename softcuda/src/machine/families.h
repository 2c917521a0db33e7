// Opcodes that several families share: who decodes `add` depends on the type.  lanes_float.cpp registers these opcodes,
// looks at the types, and hands integers and halves on.
#pragma once

#include "machine/decode.h"

namespace softcuda::SOFTCUDA_LEVEL {

void decode_integer_add(Decoder& decoder);
void decode_integer_sub(Decoder& decoder);
void decode_integer_mul(Decoder& decoder);
void decode_integer_mad(Decoder& decoder);
void decode_integer_div(Decoder& decoder);
void decode_integer_abs(Decoder& decoder);
void decode_integer_neg(Decoder& decoder);
void decode_integer_min(Decoder& decoder);
void decode_integer_max(Decoder& decoder);

void decode_half_add(Decoder& decoder);
void decode_half_sub(Decoder& decoder);
void decode_half_mul(Decoder& decoder);
void decode_half_fma(Decoder& decoder);
void decode_half_abs(Decoder& decoder);
void decode_half_neg(Decoder& decoder);
void decode_half_min(Decoder& decoder);
void decode_half_max(Decoder& decoder);
void decode_half_ex2(Decoder& decoder);
void decode_half_tanh(Decoder& decoder);
void decode_half_setp(Decoder& decoder);
void decode_half_set(Decoder& decoder);

void register_video(OperationTable& table);  // lanes_video.cpp, a part of the integer family

// An Exec that turns a row of halves (op.a) into a row of floats (op.dst).
Exec widen_exec(bool bf16);

}  // namespace softcuda::SOFTCUDA_LEVEL
