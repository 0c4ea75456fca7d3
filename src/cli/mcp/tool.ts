/** One MCP tool: what it takes, what it does, and how it answers. */
import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { describeError } from '../../daemon/describe-error.ts';
import type { Cli } from '../context.ts';
import { terminalText } from '../terminal-text.ts';

/** What a tool works with. Host, time and session belong to the process; no argument of a tool can set them. */
export interface Desk {
  readonly cli: Pick<Cli, 'call' | 'home'>;
  readonly session: string;
  /** Counts a request as under way. */
  readonly track: <T>(work: Promise<T>) => Promise<T>;
}

export interface Tool<Shape extends z.ZodRawShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Shape;
  /** `read` changes nothing; `add` appends an event; `withdraw` appends one that takes claims out of service. */
  readonly effect: 'read' | 'add' | 'withdraw';
  /** The answer in lines. What it throws becomes an answer that says the next step. */
  readonly run: (desk: Desk, input: z.infer<z.ZodObject<Shape>>) => Promise<readonly string[]>;
}

/** A tool whose input has been closed over. */
export type AnyTool = (server: McpServer, desk: Desk) => void;

/** Arguments that a tool does not have (a host, a session, a time) are dropped, not obeyed. */
export function defineTool<Shape extends z.ZodRawShape>(tool: Tool<Shape>): AnyTool {
  const { name, title, description, effect } = tool;
  const annotations = {
    title,
    readOnlyHint: effect === 'read',
    destructiveHint: effect === 'withdraw',
    idempotentHint: effect === 'read',
    openWorldHint: false,
  };
  return (server, desk) => {
    const inputSchema = z.object(tool.input);
    server.registerTool(name, { title, description, inputSchema, annotations }, (input) =>
      desk.track(answer(() => tool.run(desk, input as z.infer<z.ZodObject<Shape>>))),
    );
  };
}

interface ToolAnswer {
  readonly [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  isError?: boolean;
}

async function answer(work: () => Promise<readonly string[]>): Promise<ToolAnswer> {
  try {
    return { content: [text(await work())] };
  } catch (error) {
    const { code, message, hint } = describeError(error);
    return {
      isError: true,
      content: [text([`${code}: ${message}`, ...(hint === undefined ? [] : [`next: ${hint}`])])],
    };
  }
}

function text(lines: readonly string[]): { type: 'text'; text: string } {
  return { type: 'text', text: lines.map(terminalText).join('\n') };
}

/** An argument that names a subject. */
export const subject: z.ZodString = z
  .string({ error: 'a subject is class/entity, for example ssh-route/mini; the index lists those that are known' })
  .describe('class/entity, for example ssh-route/mini');
