/* SPDX-License-Identifier: Apache-2.0 */
/* Dates, times and spans of time as ISO 8601 text. */
#ifndef CLI_CALENDAR_H
#define CLI_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

/* Ticks of 10^-digits seconds since 1970 (or since midnight), digits 0, 3, 6 or 9. */
void date_text(struct text *out, int64_t days);
void time_of_day_text(struct text *out, int64_t ticks, int digits);
/* zone NULL: local time without zone. "UTC", "+05:30", or a name of the system's time zone database; unknown names show UTC. */
void timestamp_text(struct text *out, int64_t ticks, int digits, const char *zone, char between);
void duration_text(struct text *out, int64_t ticks, int digits);
void interval_text(struct text *out, int64_t months, int64_t days, int64_t ticks, int digits);

#endif
