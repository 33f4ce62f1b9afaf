import { LiveError, mutation, query, v } from "native-engine/live";

export const list = query({
  args: { room: v.string() },
  handler: async (ctx, { room }) => {
    const newest = ctx.db.query("messages").withIndex("by_room", (r) => r.eq("room", room));
    return (await newest.order("desc").take(50)).reverse();
  },
});

export const send = mutation({
  args: { room: v.string(), author: v.string(), text: v.string() },
  handler: async (ctx, message) => {
    if (message.text.trim() === "") throw new LiveError("a message needs a text");
    return await ctx.db.insert("messages", message);
  },
});
