export type Verdict = "allow" | "ask" | "redo" | "escalate" | "deny";

export interface ProposedCall {
  tool: string;
  arguments?: Record<string, unknown>;
  /** The provider's own id of the call. */
  id?: string;
}

/** What a yes is bound to. */
export interface Intent {
  id: string;
  kind: "confirmation" | "approval";
  hash: string;
  shown: string;
  expires_at: string;
}

/** What became of a call, and what to tell whom. */
export interface Ruling {
  id: string;
  conversation: string;
  verdict: Verdict;
  reason_codes: string[];
  /** The call as it has to run. */
  call: { tool: string; arguments: Record<string, any>; id: string };
  /** What the model gets instead of a result. */
  tell_model: string;
  /** The question, for the user. */
  ask_user: string;
  /** Parameters that only the user can fill. */
  missing: string[];
  intent: Intent | null;
  /** The ledger's row of a write, once handed out. Two rulings with the same one let one call run. */
  execution: string | null;
  /** Set where the call is no longer to be run: what became of it when it was let through before. */
  state?: "started" | "succeeded" | "failed" | "indeterminate" | null;
  /** What it brought, or why it failed. */
  outcome?: unknown;
  /** Where each value comes from. */
  grounding: Record<string, unknown>;
}

export interface CheckedReply {
  ok: boolean;
  /** What may be said. */
  text: string;
  untrue: { sentence: string; reason: string }[];
  reason_codes: string[];
}

export type Outcome = { result: unknown } | { error: string } | { not_run: true };
export type State = "started" | "succeeded" | "failed" | "indeterminate" | "delegated";

export interface Options {
  signal?: AbortSignal;
}

export interface PersonOptions extends Options {
  /** Who the user is. A conversation that was given a person belongs to them: name them in every request. */
  person?: string;
}

export interface Connection {
  url: string;
  /** A key of scope `chat`. */
  key: string;
  /** Milliseconds for a request with all its attempts. 30,000 unless told. */
  timeout?: number;
  /** How often what a moment can mend is tried again. 3 unless told. */
  retries?: number;
  fetch?: typeof globalThis.fetch;
}

export declare class Circumspect {
  constructor(connection: Connection);

  /** Hold a call against the policy. Run `ruling.call`, and only when the verdict is `allow`. */
  rule(
    wanted: {
      call: ProposedCall;
      conversation: string;
      /** The whole conversation so far, tool results included, as your agent keeps it. */
      messages?: readonly unknown[];
      /** Your tools, as your model gets them. */
      tools?: readonly object[];
      person?: string;
    },
    options?: Options,
  ): Promise<Ruling>;

  /** The user's answer to the ruling's question: their words, or what they pressed. */
  answer(ruling: Ruling | string, answer: string | boolean, options?: PersonOptions): Promise<Ruling>;

  /** What came of a call that you ran. What is said first stays. */
  result(ruling: Ruling | string, outcome: Outcome, options?: PersonOptions): Promise<{ state: State }>;

  /** The ruling as it stands now: a colleague may have decided. */
  get(ruling: Ruling | string, options?: PersonOptions): Promise<Ruling>;

  /** Hold what your agent wants to say against what ran. */
  checkReply(
    reply: { text: string; conversation?: string; messages?: readonly unknown[]; person?: string },
    options?: Options,
  ): Promise<CheckedReply>;

  /**
   * Run an allowed call and report what came of it. In this process it runs once: again, also by another ruling on
   * the same call, it gives the same result, or the same error. Throws `CallHeld` when the call is not allowed.
   */
  run<T>(ruling: Ruling, run: (given: Record<string, any>) => T | PromiseLike<T>, options?: PersonOptions): Promise<T>;
}

/** What the server refused, or that it could not be reached: what is wrong, and what to do. */
export declare class CircumspectError extends Error {
  /** Of HTTP; 0 where there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly problem: string;
  readonly fix: string;
}

/** There is no such ruling or conversation, or it is somebody else's. */
export declare class NotFound extends CircumspectError {}

/** The key is missing, wrong, or may not do this. */
export declare class AccessRefused extends CircumspectError {}

/** No answer: the server is not there, or `timeout` has passed. */
export declare class Unreachable extends CircumspectError {}

/** A call was to be run that is not allowed. Its message is what the model should get instead of a result. */
export declare class CallHeld extends Error {
  readonly ruling: Ruling;
}

/** The function has run, and the gate could not be told. `run` with the same ruling tells it again, and runs nothing. */
export declare class ResultNotReported extends Error {
  readonly outcome: { result: unknown } | { error: unknown };
}
