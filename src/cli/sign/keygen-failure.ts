/** Why `ssh-keygen -Y sign` made no signature, in words that say what to do. */
import { lastLine } from '../../store/child.ts';
import { systemCode } from '../../store/errors.ts';
import { Refusal } from '../../daemon/refusal.ts';

/** How ssh-keygen ended. */
export interface KeygenEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
  readonly error?: Error;
}

export interface Attempt {
  /** The key file. */
  readonly file: string;
  readonly terminal: boolean;
  /** The agent of an open window was to sign. */
  readonly agent: boolean;
  readonly tries: number;
  /** What is signed is an event, for which a window may be opened. */
  readonly event: boolean;
}

export interface Failure {
  readonly refusal: Refusal;
  /** Worth asking the person once more. */
  readonly again: boolean;
}

/** What each sort of failure looks like in what ssh-keygen says. The first that fits counts. */
const sorts: readonly {
  readonly seen: RegExp;
  readonly says: (attempt: Attempt) => readonly [message: string, hint: string];
}[] = [
  {
    seen: /agent refused operation|communication with agent failed/,
    says: ({ file }) => [`the agent did not sign with ${file}: not confirmed, or it has no way to ask`, agentHint],
  },
  {
    seen: /bad permissions|too open/,
    says: ({ file }) => [`${file} can be read by others, so ssh-keygen does not use it`, `chmod 600 ${file}`],
  },
  {
    seen: /Permission denied/,
    says: ({ file }) => [
      `${file} cannot be read by this user`,
      'sign as the user whose key it is, or name another: --key FILE',
    ],
  },
  {
    seen: /invalid format|error in libcrypto/,
    says: ({ file }) => [noKey(file), 'name the private key: --key FILE'],
  },
  {
    seen: /No private key found|No such file/,
    says: ({ file }) => [
      file.endsWith('.pub') ? `the private half of ${file} is not here` : noKey(file),
      'name the private key file: --key FILE; for a key that only an agent holds: memctl unlock',
    ],
  },
  {
    seen: /device not found|requested feature not supported|[Pp]rovider|\bPIN\b|\bFIDO\b/,
    says: ({ file }) => [
      `the hardware key of ${file} did not sign`,
      'plug it in, touch it when it blinks, and try again',
    ],
  },
  {
    seen: /unknown option|illegal option|^usage:/m,
    says: () => ['this ssh-keygen cannot sign', 'update OpenSSH to 8.2 or newer'],
  },
];

const noKey = (file: string): string => `${file} is no private key that ssh-keygen can read`;
const agentHint =
  'answer its question with yes; without a display, sign on a terminal with the passphrase: memctl unlock --end';

/** The refusal for a run that failed, and whether another try makes sense. */
export function judgeFailure(end: KeygenEnd, attempt: Attempt): Failure {
  const { file, terminal, tries } = attempt;
  const final = (message: string, hint: string): Failure => ({ refusal: cannotSign(message, hint), again: false });
  if (end.error !== undefined) {
    const missing = systemCode(end.error) === 'ENOENT';
    return final(
      missing ? 'ssh-keygen is not on PATH' : `ssh-keygen cannot be started: ${end.error.message}`,
      installHint,
    );
  }
  if (end.signal === 'SIGINT') return final('cancelled; nothing was signed', 'nothing has changed');
  if (end.signal !== null) return final(`nobody answered in time for ${file}; nothing was signed`, 'try again');
  if (/incorrect passphrase/.test(end.stderr)) {
    if (!terminal) return { refusal: needsTerminal(attempt), again: false };
    const refusal = cannotSign(
      `the passphrase of ${file} was wrong ${tries} times; nothing was signed`,
      'try again, or name another key: --key FILE',
    );
    return { refusal, again: true };
  }
  const sort = sorts.find(({ seen }) => seen.test(end.stderr));
  if (sort !== undefined) return final(...sort.says(attempt));
  const said = lastLine(end.stderr);
  return final(`signing with ${file} failed${said === '' ? '' : `: ${said}`}`, 'name another key: --key FILE');
}

const installHint = 'install OpenSSH 8.2 or newer';

function needsTerminal({ file, event }: Attempt): Refusal {
  const lacking = event ? 'there is neither a terminal nor an open window' : 'there is no terminal';
  const orWindow = event ? ', or memctl unlock there first' : '';
  return new Refusal({
    code: 'NO_TERMINAL',
    message: `signing with ${file} failed: it asks for a passphrase, and ${lacking}`,
    hint: `a key with a passphrase needs a terminal: run this in one${orWindow}`,
    exit: 6,
  });
}

export function cannotSign(message: string, hint: string): Refusal {
  return new Refusal({ code: 'SIGN_FAILED', message, hint, exit: 6 });
}
