/**
 * Runs a pure step machine in this process: keeps its state, gives it the time, and sees that one event is done before the
 * next. What a machine decides is nowhere but in its step.
 */
export interface StepDriver<State, Event> {
  /** Hands an event in. An effect may lead to the next event at once; that waits for its turn. */
  readonly tell: (event: Event) => void;
  readonly state: () => State;
  /** Begins anew from this state. */
  readonly open: (state: State) => void;
  /** Time is told no more. Events are taken as ever: a machine that is over says so itself. */
  readonly stop: () => void;
}

export interface StepMachine<State, Event, Effect> {
  readonly state: State;
  readonly step: (
    state: State,
    at: number,
    event: Event,
  ) => { readonly state: State; readonly effects: readonly Effect[] };
  /** When the machine wants to be told the time next. */
  readonly nextTime: (state: State) => number | undefined;
  readonly time: Event;
  readonly carry: (effect: Effect) => void;
  /** Told of an effect that could not be carried out; the others are, and the machine goes on. */
  readonly onFault: (error: unknown) => void;
  /** Milliseconds on a clock that never runs backwards. */
  readonly clock?: () => number;
}

export function createStepDriver<State, Event, Effect>(
  machine: StepMachine<State, Event, Effect>,
): StepDriver<State, Event> {
  const { step, nextTime, time, carry, onFault, clock = () => performance.now() } = machine;
  let { state } = machine;
  const events: Event[] = [];
  let timer: NodeJS.Timeout | undefined;
  let [working, stopped] = [false, false];

  const carryOut = (effect: Effect): void => {
    try {
      carry(effect);
    } catch (error) {
      onFault(error);
    }
  };
  const tell = (event: Event): void => {
    events.push(event);
    if (working) return;
    working = true;
    // A step that throws is a programmer error, and told as one; it must not leave a machine that takes nothing any more.
    try {
      for (let next = events.shift(); next !== undefined; next = events.shift()) {
        const done = step(state, clock(), next);
        ({ state } = done);
        for (const effect of done.effects) carryOut(effect);
      }
    } finally {
      working = false;
      setClock();
    }
  };
  const setClock = (): void => {
    clearTimeout(timer);
    const due = stopped ? undefined : nextTime(state);
    if (due !== undefined) timer = setTimeout(() => tell(time), Math.max(1, due - clock()));
  };
  return {
    tell,
    state: () => state,
    open: (from) => void (state = from),
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
