import { defineSchema, defineTable, v } from "native-engine/live";

export default defineSchema({
  messages: defineTable({ room: v.string(), author: v.string(), text: v.string() }).index("by_room", ["room"]),
});
