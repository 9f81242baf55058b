// How a program under test is called: which of its names, and what its arguments and its answer are built from.
import { z } from 'zod';

/** A plain value, or an object of the usual interview format written as one: a linked list as a list, a tree by levels. */
export const shapeSchema = z.enum(['value', 'ListNode', 'TreeNode', 'ListNode[]', 'TreeNode[]']);
export type Shape = z.infer<typeof shapeSchema>;

export const callingSchema = z.strictObject({
  /**
   * call: the entry is called with the arguments (`Class.method`: of a fresh object). operations: the entry is a class;
   * the arguments are a list of names, the class's own first, and a list of argument lists; the answer is the list of results.
   * stdio: the whole program runs once a call, the one argument is its standard input, the answer the text it printed.
   */
  style: z.enum(['call', 'operations', 'stdio']).default('call'),
  parameters: z.array(shapeSchema).default([]), // by position; 'value' beyond
  result: shapeSchema.default('value'),
  observe: z.union([z.literal('result'), z.int().nonnegative()]).default('result'), // or the argument, after the call
});
export type Calling = z.infer<typeof callingSchema>;
