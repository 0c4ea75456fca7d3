/** Times as people write them. A time without a zone is of this machine's clock. */
import { InvalidArgumentError } from 'commander';

/** Forms for help and errors. */
export const timeForms = '2026-07-27T15:04:05Z, "2026-07-27 15:04" (local), -2h, "yesterday 14:00"';

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The instant in ISO form, UTC; undefined for what is no time. Pure but for the zone of this machine. */
export function parseTime(text: string, now: Date): string | undefined {
  const words = text.trim();
  if (words === 'now') return now.toISOString();
  return ago(words, now) ?? zoned(words) ?? local(words) ?? namedDay(words, now);
}

/** The same for an option of the command line: a usage error for what is no time. */
export function readTime(text: string): string {
  const at = parseTime(text, new Date());
  if (at === undefined) throw new InvalidArgumentError(`It is no time. Forms: ${timeForms}.`);
  return at;
}

function ago(text: string, now: Date): string | undefined {
  const match = /^-(\d{1,6})\s?([smhdw])$/.exec(text);
  if (match === null) return undefined;
  return iso(new Date(now.getTime() - Number(match[1]) * (units[match[2] ?? ''] ?? 0)));
}

function zoned(text: string): string | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/.exec(text);
  if (match === null) return undefined;
  const [, day = '', minute = '', second = ':00', zone = ''] = match;
  // 31 February would be read as a day of March.
  if (!iso(new Date(`${day}T00:00:00Z`))?.startsWith(day)) return undefined;
  return iso(new Date(`${day}T${minute}${second}${zone}`));
}

function local(text: string): string | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map((part) => Number(part ?? 0));
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(year, month - 1, day, hour, minute, second);
  return date.getMonth() === month - 1 && date.getDate() === day ? iso(date) : undefined;
}

function namedDay(text: string, now: Date): string | undefined {
  const match = /^(today|yesterday)(?: (\d{1,2}):(\d{2}))?$/.exec(text);
  const [hour, minute] = [Number(match?.[2] ?? 0), Number(match?.[3] ?? 0)];
  if (match === null || hour > 23 || minute > 59) return undefined;
  const back = match[1] === 'yesterday' ? 1 : 0;
  return iso(new Date(now.getFullYear(), now.getMonth(), now.getDate() - back, hour, minute));
}

function iso(date: Date): string | undefined {
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
