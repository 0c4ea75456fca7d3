import { expect, test } from 'vitest';
import type { ListenAddress } from '../../../../src/daemon/enrol/listen-address.ts';
import { openMovable } from '../../../../src/daemon/peers/ssh-listener.ts';
import { OperatingError } from '../../../../src/store/errors.ts';

/** A machine on which some addresses cannot be opened, and two servers never share a port. */
async function movable(): Promise<{
  listener: Awaited<ReturnType<typeof openMovable>>;
  barred: Set<string>;
  open: Set<string>;
  faults: string[];
  moveTo: (address: string) => void;
}> {
  const [barred, open] = [new Set<string>(), new Set<string>()];
  const faults: string[] = [];
  let address = '127.0.0.1';
  const listener = await openMovable({
    choose: () => ({ address, port: 1 }),
    open: async (listen: ListenAddress) => {
      if (open.size > 0 || barred.has(listen.address)) {
        throw new OperatingError('LISTEN_FAILED', `cannot listen on ${listen.address}`, { hint: '' });
      }
      open.add(listen.address);
      return { ...listen, close: async () => void open.delete(listen.address) };
    },
    onMoved: (listen) => faults.push(`moved to ${listen}`),
    onFault: (fault) => faults.push(fault?.message ?? 'sound'),
  });
  return { listener, barred, open, faults, moveTo: (to) => void (address = to) };
}

test('a move that fails leaves the server where it was, says so, and is tried again at the next change', async () => {
  const { listener, barred, open, faults, moveTo } = await movable();
  barred.add('::');
  moveTo('::');
  await expect(listener.follow()).rejects.toThrow('cannot listen on ::');
  expect([listener.listening(), faults]).toEqual(['127.0.0.1:1', ['cannot listen on ::']]);
  barred.clear();
  // Trying costs the connections that are open: not in every cycle.
  await listener.retry();
  expect([...open]).toEqual(['127.0.0.1']);
  await listener.follow();
  expect([listener.listening(), faults.slice(1)]).toEqual(['[::]:1', ['sound', 'moved to [::]:1']]);
  await listener.close();
  expect(open.size).toBe(0);
});

test('a server that listens nowhere comes back with the next cycle', async () => {
  const { listener, barred, open, moveTo } = await movable();
  barred.add('::').add('127.0.0.1');
  moveTo('::');
  await expect(listener.follow()).rejects.toThrow('cannot listen on ::');
  await expect(listener.retry()).rejects.toThrow('cannot listen on ::');
  expect(listener.listening()).toBe('nowhere');
  barred.delete('::');
  await listener.retry();
  expect([listener.listening(), [...open]]).toEqual(['[::]:1', ['::']]);
  await listener.close();
});
