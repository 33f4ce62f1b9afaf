import { LruMap } from "../../../../port/lru-map.ts";
import type { Dialects } from "../../dialect.ts";
import type { StatementText } from "../../messages.ts";
import { duckFault } from "../duck-fault.ts";
import { planStatement, type SerializedSql } from "./plan-statement.ts";
import type { StatementPlan } from "./statement-plan.ts";
import { parseTree } from "./syntax-tree.ts";

/** Plans that are kept for statements that come again, and the longest text of one. */
const plansMax = 500;
const planLengthMax = 10_000;

/** The plans of statements, made once for those that come again. */
export class StatementPlans {
  readonly #serialize: (query: string) => Promise<unknown>;
  readonly #dialects: Dialects;
  readonly #plans = new LruMap<string, StatementPlan>(plansMax);

  /** `serialize` gives the tree of a query as text. */
  constructor(serialize: (query: string) => Promise<unknown>, dialects: Dialects) {
    this.#serialize = serialize;
    this.#dialects = dialects;
  }

  async of(text: StatementText): Promise<StatementPlan> {
    const key = `${text.dialect ?? ""}\n${text.namespace.name}\n${text.query}`;
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    const dialect = text.dialect && this.#dialects[text.dialect];
    let plan: StatementPlan;
    try {
      plan = await planStatement(text, dialect, (query) => this.#parse(query));
    } catch (error) {
      throw duckFault(error);
    }
    if (key.length <= planLengthMax) this.#plans.set(key, plan);
    return plan;
  }

  async #parse(query: string): Promise<SerializedSql> {
    return parseTree((await this.#serialize(query)) as string) as SerializedSql;
  }
}
