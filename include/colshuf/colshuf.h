/* SPDX-License-Identifier: Apache-2.0 */
/*
 * colshuf: a columnar shuffle engine. One header for each part, in the order of the data flow:
 *
 *   base.h       status, errors, allocator, limits, trust
 *   arrow.h      Arrow C Data structs; validate, take, concat, slice
 *   ipc.h        Arrow IPC streams and files
 *   block.h      shuffle blocks (Apache DataFusion Comet's format): encoder, decoder
 *   partition.h  rows -> partition ids -> row lists: hash, range, round robin, single, given ids
 *   shuffle.h    map writer, partition reader, inspection, verification
 */
#ifndef COLSHUF_H
#define COLSHUF_H

#include "colshuf/arrow.h"
#include "colshuf/base.h"
#include "colshuf/block.h"
#include "colshuf/ipc.h"
#include "colshuf/partition.h"
#include "colshuf/shuffle.h"

#endif
