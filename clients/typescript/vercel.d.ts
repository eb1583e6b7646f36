import type { Circumspect } from "./index.js";

/** Which question was put for a call. */
export interface Question {
  ruling: string;
  call: string;
}

export interface GuardOptions {
  client: Circumspect;
  /** Your id of the conversation. */
  conversation: string;
  /** Who the user is. */
  person?: string;
  /**
   * Where it is kept which question was put, until its approval comes back. In this process unless told: give a store of
   * your own where another process may get the approval.
   */
  questions?: {
    get(key: string): Question | undefined | null | PromiseLike<Question | undefined | null>;
    set(key: string, question: Question): unknown;
  };
}

/** Both go to `generateText`, `streamText` or `ToolLoopAgent`: `{ model, messages, ...guard(tools, options) }`. */
export declare function guard<TOOLS extends Record<string, any>>(
  tools: TOOLS,
  options: GuardOptions,
): { tools: TOOLS; toolApproval: (proposed: any) => Promise<any> };
