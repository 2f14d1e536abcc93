/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strategy noerrors: who errs least.  Pure.
 *
 * Of each regular mirror, over the window: C criticals, W warnings, S successes, Q = C + W + S.
 * rc = C / Q and ra = (C + W) / Q, each 0 up to the tolerance.  Best is the smallest rc, then the
 * smallest ra; who equals the best in both shares the traffic by weight, all others are avoided.  A
 * mirror without an answer (W + S = 0) is skipped.  When nobody has one, all stay.
 *
 * Where it goes beyond the documented rule:
 *
 * - A ping is no success and hides no error.  But one that was answered speaks for a mirror of
 *   which nothing else is known (Q = 0), which then counts as without errors.
 * - Nobody starves: a mirror of which nothing is known and which was avoided before, or answers no
 *   ping, is put on trial.
 * - At most strategy_view.max_avoided of the mirrors are avoided, those that err most; whoever
 *   answered nothing at all is avoided on top.
 */
#pragma once

struct strategy_share;
struct strategy_view;

/* Turns roles REGULAR into AVOIDED or TRIAL; at least one mirror stays REGULAR if one was. */
void
noerrors_cast(const struct strategy_view *view, struct strategy_share *shares);
