/* SPDX-License-Identifier: Apache-2.0 */
#include "calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

static int64_t power_of_ten(int digits) {
  int64_t value = 1;
  while (digits-- > 0) value *= 10;
  return value;
}

/*
 * Years that begin in March have their leap day at the end; 400 of them are 146097 days. The count starts at 0000-03-01, 719468
 * days before 1970.
 */
void date_text(struct text *out, int64_t days) {
  int64_t day = days + 719468;
  int64_t era = floor_divide(day, 146097);
  int64_t in_era = day - era * 146097;
  int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
  int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
  int64_t month = (5 * in_year + 2) / 153; /* from March */
  int64_t in_month = in_year - (153 * month + 2) / 5 + 1;
  month = month < 10 ? month + 3 : month - 9;
  year += era * 400 + (month <= 2);
  const char *sign = year < 0 ? "-" : year > 9999 ? "+" : "";
  text_format(out, "%s%04" PRId64 "-%02" PRId64 "-%02" PRId64, sign, year < 0 ? -year : year, month, in_month);
}

static void fraction_text(struct text *out, int64_t fraction, int digits) {
  if (fraction != 0) text_format(out, ".%0*" PRId64, digits, fraction);
}

void time_of_day_text(struct text *out, int64_t ticks, int digits) {
  int64_t unit = power_of_ten(digits);
  if (ticks < 0) { /* not valid, but shown as it is */
    text_format(out, "%" PRId64, ticks);
    return;
  }
  int64_t seconds = ticks / unit;
  text_format(out, "%02" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600, seconds / 60 % 60, seconds % 60);
  fraction_text(out, ticks % unit, digits);
}

/* A number of at most two digits, of which there must be one; false: there is none. */
static bool take_two_digits(const char **place, int64_t *out) {
  size_t n = strspn(*place, "0123456789");
  if (n > 2) n = 2;
  *out = 0;
  for (size_t i = 0; i < n; i++) *out = *out * 10 + (*place)[i] - '0';
  *place += n;
  return n > 0;
}

/* "+05:30", "-08", "+0530" */
static bool fixed_offset(const char *zone, int64_t *seconds) {
  int64_t hours, minutes = 0;
  char sign = zone[0];
  if (sign != '+' && sign != '-') return false;
  const char *rest = zone + 1;
  size_t size = strspn(rest, "0123456789:");
  if (rest[size] != '\0') return false;
  bool is_short = size == 4 && strchr(rest, ':') == NULL;
  if (!take_two_digits(&rest, &hours)) return false;
  if (*rest == ':') rest++;
  else if (!is_short) rest += strlen(rest); /* "+08", or digits that mean nothing */
  (void)take_two_digits(&rest, &minutes);
  *seconds = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
  return true;
}

static bool zone_exists(const char *zone) {
  char path[512];
  if (strstr(zone, "..") != NULL || zone[0] == '/') return false;
  snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", zone);
  return access(path, R_OK) == 0;
}

/* The offset of a named zone at a moment. The C library knows one zone at a time; it is changed only when another comes. */
static bool named_offset(const char *zone, int64_t moment, int64_t *seconds) {
  static char current[128];
  if (strcmp(current, zone) != 0) {
    if (strlen(zone) >= sizeof current || !zone_exists(zone)) return false;
    snprintf(current, sizeof current, "%s", zone);
    setenv("TZ", zone, 1);
    tzset();
  }
  time_t when = (time_t)moment;
  struct tm local;
  if (localtime_r(&when, &local) == NULL) return false;
  *seconds = local.tm_gmtoff;
  return true;
}

static bool is_utc(const char *zone) {
  return strcmp(zone, "UTC") == 0 || strcmp(zone, "Z") == 0 || strcmp(zone, "Etc/UTC") == 0 || strcmp(zone, "GMT") == 0;
}

static void local_text(struct text *out, int64_t seconds, int64_t fraction, int digits, char between) {
  int64_t days = floor_divide(seconds, 86400);
  date_text(out, days);
  text_char(out, between);
  time_of_day_text(out, seconds - days * 86400, 0);
  fraction_text(out, fraction, digits);
}

void timestamp_text(struct text *out, int64_t ticks, int digits, const char *zone, char between) {
  int64_t unit = power_of_ten(digits);
  int64_t seconds = floor_divide(ticks, unit), fraction = ticks - seconds * unit, offset = 0;
  bool known = zone != NULL && !is_utc(zone) && (fixed_offset(zone, &offset) || named_offset(zone, seconds, &offset));
  if (seconds > INT64_MAX - 100000 || seconds < INT64_MIN + 100000) offset = 0;
  local_text(out, seconds + offset, fraction, digits, between);
  if (zone == NULL) return;
  if (!known) {
    text_char(out, 'Z');
    return;
  }
  int64_t minutes = (offset < 0 ? -offset : offset) / 60;
  text_format(out, "%c%02" PRId64 ":%02" PRId64, offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

/* The seconds of a span, with their fraction. */
static void seconds_text(struct text *out, int64_t ticks, int digits, const char *sign) {
  uint64_t unit = (uint64_t)power_of_ten(digits);
  uint64_t magnitude = ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks;
  text_format(out, "%s%" PRIu64, sign, magnitude / unit);
  fraction_text(out, (int64_t)(magnitude % unit), digits);
  text_char(out, 'S');
}

void duration_text(struct text *out, int64_t ticks, int digits) {
  text_put(out, "PT");
  seconds_text(out, ticks, digits, ticks < 0 ? "-" : "");
}

void interval_text(struct text *out, int64_t months, int64_t days, int64_t ticks, int digits) {
  text_char(out, 'P');
  if (months / 12 != 0) text_format(out, "%" PRId64 "Y", months / 12);
  if (months % 12 != 0) text_format(out, "%" PRId64 "M", months % 12);
  if (days != 0) text_format(out, "%" PRId64 "D", days);
  if (ticks != 0 || (months == 0 && days == 0)) {
    text_char(out, 'T');
    seconds_text(out, ticks, digits, ticks < 0 ? "-" : "");
  }
}
