/**
 * The field table: what a body of each kind must and may carry. `parseBody` (event.ts) runs on the compiled form, so that
 * a body is checked in one pass over its members. Source: docs/format.md, section 5.
 */
import type { Kind } from './event.ts';
import { fieldGrammars, type FieldGrammar } from './body-fields.ts';

/** Fields of one kind: those it must have and those it may have besides. */
export interface KindFields {
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

/** Fields of every kind. */
export const commonFields: KindFields = {
  required: ['mesh', 'host', 'session', 'at', 'nonce', 'kind', 'subject'],
  optional: ['scope', 'audience'],
};

const assertFields: KindFields = {
  required: ['home'],
  optional: ['content', 'value', 'polarity', 'hook', 'text', 'basis', 'supersedes', 'names', 'confidence', 'lineage'],
};

const lessonFields: KindFields = {
  required: ['content'],
  optional: ['hook', 'text', 'home', 'basis', 'supersedes', 'names', 'confidence', 'lineage'],
};

/**
 * What each kind carries besides `commonFields`. A propose carries `proposes` and the fields of the kind that it names,
 * so it has two rows. An assert also needs `content` or `value`; `content` of a deny is a reason code.
 */
export const fieldTable: Readonly<Record<Exclude<Kind, 'propose'> | `propose ${'assert' | 'lesson'}`, KindFields>> = {
  assert: assertFields,
  lesson: lessonFields,
  decision: { required: ['content'], optional: ['text', 'home', 'basis', 'supersedes', 'lineage'] },
  question: { required: ['content'], optional: ['supersedes', 'lineage'] },
  observe: { required: ['home', 'digest'], optional: [] },
  'propose assert': withProposes(assertFields),
  'propose lesson': withProposes(lessonFields),
  retract: { required: ['supersedes'], optional: ['content', 'lineage'] },
  pin: { required: [], optional: [] },
  deny: { required: [], optional: ['content'] },
};

/** Sets of fields as bits. */
export interface FieldSets {
  readonly required: number;
  readonly allowed: number;
}

/** Bit and grammar of every field. */
export const fieldBits: ReadonlyMap<string, FieldGrammar & { readonly bit: number }> = new Map(
  Object.entries(fieldGrammars).map(([name, grammar], index) => [name, { ...grammar, bit: 1 << index }]),
);

/** Compiled rows of the table, by its row names. */
export const rowSets: ReadonlyMap<string, FieldSets> = new Map(
  Object.entries(fieldTable).map(([row, fields]) => [row, compile(fields)]),
);

function withProposes(fields: KindFields): KindFields {
  return { required: ['proposes', ...fields.required], optional: fields.optional };
}

function compile(fields: KindFields): FieldSets {
  const required = bitsOf(commonFields.required) | bitsOf(fields.required);
  return { required, allowed: required | bitsOf(commonFields.optional) | bitsOf(fields.optional) };
}

function bitsOf(names: readonly string[]): number {
  return names.reduce((bits, name) => bits | (fieldBits.get(name)?.bit ?? 0), 0);
}
