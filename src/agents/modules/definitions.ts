// `adjutant/engine`: what users' modules are written with: agents, strategies, custom directives, tools.
// Must never connect to anything: a definition is data and functions; the service that loads it does the rest.
export type { AgentDefinition, SubmittedAgentDefinition } from '../../contract/run/agent-definition.ts';
export { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
export type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../contract/model/message.ts';
export { errorResult, okResult, type Result } from '../../contract/result.ts';
export { retryFields } from '../../contract/directive/retry-policy.ts';
export type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
export {
  defineDirective,
  type CustomDirectiveType,
  type Executed,
  type ImmediateDirectiveType,
  type CustomDirectiveContext,
  type CustomDirective,
  type QueuedDirectiveType,
} from '../core/directive-exec.ts';
export type { CaseCall, CaseModel, CaseTool, CaseTurn, RecordedCase } from '../../contract/case/case.ts';
export type { CaseComparison, ComparedCall, ComparedTurn, Difference } from '../../contract/case/compare.ts';
export { defineScore, type Score, type ScoredRun, type ScoreVerdict } from './define-score.ts';
export { defineTool, type ModuleTool, type ToolAnswer, type ToolContext } from './define-tool.ts';
export type { ControlDirectiveInput } from '../../contract/run/control-directive.ts';
export { toolMessage } from '../core/history.ts';
export { defineAgent } from '../define-agent.ts';
export { type ModelAnswer, readAnswer } from '../strategies/model-answer.ts';
export type {
  AppliedControls,
  Completion,
  ControlContext,
  ControlHandler,
  ControlHandlerRegistry,
  ControlHandlers,
  ControlOptions,
} from '../core/control/control-context.ts';
export { controlHandlers } from '../core/control/apply-controls.ts';
export { reactWith } from '../strategies/react.ts';
export {
  answerCall,
  type AnyStrategy,
  applyControls,
  callModel,
  callTool,
  defineStrategy,
  type Outcome,
  type Step,
  type Strategy,
  type StrategyContext,
  type StrategyDirective,
  type StrategySignal,
} from '../strategies/strategy.ts';
export type { JsonObject } from '../turn/transition.ts';
export type { Execution, ExecutionContext } from '../../worker/executors/definition.ts';
