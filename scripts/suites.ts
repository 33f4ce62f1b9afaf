/** Which test files a run of the test runner has, by the name of the suite. */
export const suites: Readonly<Record<string, readonly string[]>> = {
  quick: ["{src,bench}/**/*.test.ts", "test/{contract,engine,house,listener,port,wire}/**/*.test.ts"],
  long: ["test/{cli,docs,formats,history,limits,load,model,power,restart,sim,sql}/**/*.test.ts"],
  fault: ["test/fault/**/*.test.ts"],
  console: ["test/browser/**/*.test.ts"],
  cluster: ["test/cluster/**/*.test.ts"],
  packages: ["test/package/**/*.test.ts"],
};
