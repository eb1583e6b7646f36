/**
 * The gate over HTTP: may this call run, given this conversation?
 *
 * Every request may be sent again: the same call gets the same ruling, an answer counts once, and of results the first
 * one stays. So what a moment can mend (no connection, 429, 503, a busy conversation) is tried again within `timeout`.
 */

const MOST_REMEMBERED = 10_000;
const LONGEST_ERROR = 20_000;
const LONGEST_PAUSE = 10_000;
const PASSING = new Set([429, 502, 503, 504]);

/** What the server refused, or that it could not be reached: what is wrong, and what to do. */
export class CircumspectError extends Error {
  constructor({ status = 0, code, problem, fix = "" }, options) {
    super(fix ? `${problem} ${fix}` : problem, options);
    this.name = "CircumspectError";
    this.status = status;
    this.code = code;
    this.problem = problem;
    this.fix = fix;
  }
}

/** There is no such ruling or conversation, or it is somebody else's. */
export class NotFound extends CircumspectError {
  name = "NotFound";
}

/** The key is missing, wrong, or may not do this. */
export class AccessRefused extends CircumspectError {
  name = "AccessRefused";
}

/** No answer: the server is not there, or `timeout` has passed. */
export class Unreachable extends CircumspectError {
  name = "Unreachable";
}

/** A call was to be run that is not allowed. Its message is what the model should get instead of a result. */
export class CallHeld extends Error {
  name = "CallHeld";

  constructor(ruling) {
    super(ruling.tell_model);
    this.ruling = ruling;
  }
}

/** The function has run, and the gate could not be told. `run` with the same ruling tells it again, and runs nothing. */
export class ResultNotReported extends Error {
  name = "ResultNotReported";

  constructor(outcome, cause) {
    super("The call has run, but its result could not be reported.", { cause });
    this.outcome = outcome;
  }
}

export class Circumspect {
  #url;
  #key;
  #timeout;
  #retries;
  #fetch;
  #ran = new Map();

  constructor({ url, key, timeout = 30_000, retries = 3, fetch = globalThis.fetch }) {
    this.#url = url.endsWith("/") ? url : `${url}/`;
    this.#key = key;
    this.#timeout = timeout;
    this.#retries = retries;
    // Some runtimes refuse a fetch that is called as a method of something else.
    this.#fetch = (...request) => fetch(...request);
  }

  /** Hold a call against the policy. Run `ruling.call`, and only when the verdict is `allow`. */
  async rule({ call, conversation, messages, tools, person }, options = {}) {
    return this.#send("POST", "v1/rulings", { call, conversation, messages, tools, person }, options);
  }

  /** The user's answer to the ruling's question: their words, or what they pressed. */
  async answer(ruling, answer, options = {}) {
    const given = typeof answer === "boolean" ? { approve: answer } : { text: answer };
    return this.#send("POST", `${pathOf(ruling)}/answer`, { ...given, person: options.person }, options);
  }

  /** What came of a call that you ran: `{ result }`, `{ error }` or `{ not_run: true }`. */
  async result(ruling, outcome, options = {}) {
    return this.#send("POST", `${pathOf(ruling)}/result`, { ...outcome, person: options.person }, options);
  }

  /** The ruling as it stands now: a colleague may have decided. */
  async get(ruling, options = {}) {
    const query = options.person === undefined ? "" : `?person=${encodeURIComponent(options.person)}`;
    return this.#send("GET", `${pathOf(ruling)}${query}`, undefined, options);
  }

  /** Hold what your agent wants to say against what ran. */
  async checkReply({ text, conversation, messages, person }, options = {}) {
    return this.#send("POST", "v1/replies/check", { text, conversation, messages, person }, options);
  }

  /**
   * Run an allowed call and report what came of it. In this process it runs once: again, also by another ruling on
   * the same call, it gives the same result, or the same error.
   */
  async run(ruling, run, options = {}) {
    if (ruling.verdict !== "allow" && ruling.state === "succeeded") return ruling.outcome;
    if (ruling.verdict !== "allow") throw new CallHeld(ruling);
    const id = ruling.execution ?? ruling.id;
    let kept = this.#ran.get(id);
    if (kept === undefined) {
      kept = { outcome: settle(run, ruling.call.arguments), reported: undefined };
      this.#remember(id, kept);
    }
    const outcome = await kept.outcome;
    kept.reported ??= this.result(ruling, describe(outcome), options);
    try {
      await kept.reported;
    } catch (problem) {
      kept.reported = undefined;
      throw new ResultNotReported(outcome, problem);
    }
    if ("error" in outcome) throw outcome.error;
    return outcome.result;
  }

  #remember(id, kept) {
    this.#ran.set(id, kept);
    if (this.#ran.size > MOST_REMEMBERED) this.#ran.delete(this.#ran.keys().next().value);
  }

  async #send(method, path, body, { signal }) {
    const late = AbortSignal.timeout(this.#timeout);
    const request = {
      method,
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, late]) : late,
      redirect: "error",
    };
    try {
      for (let attempt = 0; ; attempt++) {
        const { value, problem, wait } = await this.#try(path, request);
        if (problem === undefined) return value;
        if (wait === undefined || attempt >= this.#retries) throw problem;
        await pause(Math.max(wait, 100 * 2 ** attempt), request.signal);
      }
    } catch (problem) {
      if (signal?.aborted) throw signal.reason;
      if (!late.aborted) throw problem;
      const said = { code: "timeout", problem: `No answer within ${this.#timeout} ms.`, fix: "Try again, or raise `timeout`." };
      throw new Unreachable(said, { cause: problem });
    }
  }

  /** The value, or a problem; with `wait` where it is worth another try. */
  async #try(path, request) {
    let answer, text;
    try {
      answer = await this.#fetch(this.#url + path, request);
      text = await answer.text();
    } catch (cause) {
      if (request.signal.aborted) throw cause;
      const said = { code: "unreachable", problem: "The server cannot be reached.", fix: "Check `url`, and that it runs." };
      return { problem: new Unreachable(said, { cause }), wait: 0 };
    }
    const value = readJson(text);
    if (answer.ok && value !== undefined) return { value };
    const after = answer.headers.get("retry-after");
    const passing = PASSING.has(answer.status) || (answer.status === 409 && after !== null);
    const wait = passing ? Math.min((Number(after) || 0) * 1000, LONGEST_PAUSE) : undefined;
    return { problem: readProblem(answer.status, value), wait };
  }
}

function pathOf(ruling) {
  return `v1/rulings/${encodeURIComponent(typeof ruling === "string" ? ruling : ruling.id)}`;
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readProblem(status, said) {
  const Kind = status === 404 ? NotFound : status === 401 || status === 403 ? AccessRefused : CircumspectError;
  if (typeof said?.problem === "string") return new Kind({ ...said, status });
  const problem = `The answer (status ${status}) is not the gate's.`;
  return new CircumspectError({ status, code: "not_the_gate", problem, fix: "Check `url`." });
}

async function settle(run, given) {
  try {
    return { result: await run(given) };
  } catch (error) {
    return { error };
  }
}

/** In a form that can be sent. What a function returned may be anything. */
function describe(outcome) {
  if ("error" in outcome) {
    const words = String(outcome.error?.message || outcome.error?.name || outcome.error);
    return { error: (words || "failed").replaceAll("\0", "").slice(0, LONGEST_ERROR) };
  }
  try {
    return { result: JSON.parse(JSON.stringify(outcome.result ?? null)) };
  } catch {
    return { result: String(outcome.result) };
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => (clearTimeout(timer), reject(signal.reason));
    const timer = setTimeout(() => (signal.removeEventListener("abort", stop), resolve()), milliseconds);
    signal.addEventListener("abort", stop, { once: true });
  });
}
