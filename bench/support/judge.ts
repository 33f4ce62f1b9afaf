export interface Scores {
  readonly ndcg10: number;
  readonly map: number;
  readonly recall100: number;
}

/** The gain is the grade, as trec_eval has it. */
function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, i) => sum + gain / Math.log2(i + 2), 0);
}

/** Scores of one ranking; topics without a relevant document are left out by the caller. */
export function judge(ranking: readonly string[], grades: ReadonlyMap<string, number>): Scores {
  const gradeOf = (name: string) => Math.max(0, grades.get(name) ?? 0);
  const ideal = [...grades.values()].filter((grade) => grade > 0).sort((x, y) => y - x);
  let found = 0;
  let precision = 0;
  for (const [i, name] of ranking.entries()) {
    if (gradeOf(name) === 0) continue;
    found++;
    precision += found / (i + 1);
  }
  return {
    ndcg10: discounted(ranking.slice(0, 10).map(gradeOf)) / discounted(ideal.slice(0, 10)),
    map: precision / ideal.length,
    recall100: ranking.slice(0, 100).filter((name) => gradeOf(name) > 0).length / ideal.length,
  };
}

export function meanScores(scores: readonly Scores[]): Scores {
  const mean = (key: keyof Scores) => scores.reduce((sum, each) => sum + each[key], 0) / scores.length;
  return { ndcg10: mean("ndcg10"), map: mean("map"), recall100: mean("recall100") };
}
