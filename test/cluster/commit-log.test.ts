import { after, before, test } from "node:test";
import { KafkaSharedLog } from "../../src/adapter/kafka/shared-log.ts";
import { createTopic } from "../../src/adapter/kafka/topic.ts";
import { commitLogSuite } from "../port/commit-log-suite.ts";
import { hasJava, KafkaCluster } from "../support/kafka.ts";
import { openReplicated } from "../support/replicated-log.ts";

const name = "shared by nodes, in Kafka";
const runs = 2;

if (await hasJava()) {
  let kafka: KafkaCluster;
  let topics = 0;
  before(async () => {
    kafka = await KafkaCluster.start();
  });
  after(() => kafka[Symbol.asyncDispose]());
  const open = async () => {
    const address = { brokers: kafka.brokers, topic: `suite-${topics++}.0` };
    await createTopic(address, { replicas: 3, flush: false });
    return openReplicated(() => KafkaSharedLog.open(address));
  };
  commitLogSuite(name, open, runs);
} else test(name, { skip: "needs java and mvn" }, () => {});
