// The Terraform example beside what its readers publish: the schema of the provider and the model of the ECS API, as packages of npm.
// Must never ask AWS or the Terraform registry.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { npmPackages } from '../support/npm-packages.ts';
import { must } from './commands.ts';
import { demand, type Report } from './report.ts';
import { type Files, readExample, referenceFaults } from './terraform-example.ts';
import { installationFaults } from './terraform-installation.ts';
import { containerFaults, type Json, resourceFaults, type Shape, type Types } from './terraform-schema.ts';

const FOLDER = 'deploy/terraform';
/** Generated from the schema of the version of the provider that main.tf asks for at least. */
const PROVIDER = '@cdktf/provider-aws@21.22.1';
const PACKAGES = ['@cdktf/hcl2json@0.21.0', '@aws-sdk/client-ecs@3.1164.0'];

/** Faults in a copy: the file, a text, its replacement, and a part of the message that names the fault. */
const FAULTS: readonly (readonly [file: string, from: string, to: string, found: string])[] = [
  ['main.tf', 'node_type ', 'node_tpye ', 'aws_memorydb_cluster.redis has no argument node_tpye'],
  ['main.tf', 'acl_name ', '# ', 'aws_memorydb_cluster.redis lacks the argument acl_name'],
  ['main.tf', '"aws_memorydb_acl"', '"aws_memorydb_acls"', 'the provider has no aws_memorydb_acls'],
  ['main.tf', 'parameter {', 'parameter = {', 'parameter is a block'],
  ['main.tf', 'tags = {', 'tag = {', 'default_tags has no argument tag'],
  ['ecs.tf', 'setting {', 'setting', 'ecs.tf:'],
  ['ecs.tf', '= ["FARGATE"]', '= "FARGATE"', 'requires_compatibilities is no list'],
  ['ecs.tf', '= 60', '= "high"', 'target_value is no number'],
  ['ecs.tf', 'rollback = true', 'rollback = "yes"', 'rollback is no boolean'],
  ['main.tf', 'type      = "password"', '', 'authentication_mode lacks the argument type'],
  ['main.tf', 'health_check {', 'health_check {}\n  health_check {', 'health_check is repeated'],
  ['main.tf', '{ Application = var.name }', '["adjutant"]', 'tags is no map'],
  ['ecs.tf', 'ignore_changes =', 'ignored_changes =', 'lifecycle has no argument ignored_changes'],
  ['ecs.tf', '= [desired_count]', '= [desired_counts]', 'ignores the unknown desired_counts'],
  ['main.tf', 'region = var.region', 'region = var.regoin', 'var.regoin does not exist'],
  ['variables.tf', 'variable "log_retention_days"', 'variable "log_days"', 'var.log_days is not used'],
  ['main.tf', 'otlp_port ', 'otlp_prt ', 'local.otlp_port does not exist'],
  [
    'ecs.tf',
    'aws_iam_role.execution.id',
    'aws_iam_role.executor.id',
    'aws_iam_role.executor.id does not exist',
  ],
  ['ecs.tf', '.role["api"].arn', '.role.arn', 'aws_ecs_task_definition.role.arn is one of several'],
  ['outputs.tf', 'aws_lb.api.zone_id', 'aws_lb.api[0].zone_id', 'aws_lb.api[0].zone_id is the only one'],
  ['outputs.tf', 'aws_lb.api.zone_id', 'aws_lb.api.zone', 'aws_lb.api.zone is no attribute'],
  ['main.tf', 'data.aws_vpc.this.cidr_block', '"10.0.0.0/8"', 'data.aws_vpc.this is not used'],
  ['ecs.tf', 'for role, service in', 'for role, srvice in', 'service is unknown'],
  ['main.tf', '= 310', '= each.value', 'aws_lb.api has no each'],
  ['ecs.tf', 'stopTimeout ', 'stopTimeuot ', 'has no member stopTimeuot'],
  ['ecs.tf', 'startPeriod = 20', 'startPeriod = "20"', 'startPeriod is no number'],
  ['ecs.tf', 'command = ["CMD", "node", "scripts/health.mjs"], ', '', 'healthCheck lacks command'],
  ['ecs.tf', '{ name = name, valueFrom = arn }', '{ name = name, value = arn }', 'has no member value'],
  ['ecs.tf', 'containerName = "prepare"', 'containerName = "init"', 'waits for init'],
  ['ecs.tf', 'sourceVolume = "tmp"', 'sourceVolume = "temp"', 'mounts the unknown temp'],
  ['ecs.tf', 'ADJUTANT_LOG_FORMAT ', 'ADJUTANT_LOG_FROMAT ', 'no role reads ADJUTANT_LOG_FROMAT'],
  ['ecs.tf', 'command                = [each.key]', 'command = ["serve"]', 'command is'],
  ['ecs.tf', 'engine = 15', 'engine = 5', 'stop is'],
  ['ecs.tf', 'retries = 3', 'retries = 1', 'healthCheck is'],
  ['ecs.tf', '"1000"', '"0"', 'user is'],
  ['ecs.tf', 'readonlyRootFilesystem = true', '', 'readonlyRootFilesystem is'],
  ['ecs.tf', 'drop = ["ALL"]', 'drop = []', 'linuxParameters is'],
  ['ecs.tf', '    aws_ecs_service.inner,\n', '', 'order is'],
  ['variables.tf', '    engine = { cpu', '    motor = { cpu', 'roles is'],
  ['variables.tf', 'memory = 2048', 'memory = 512', 'memory is'],
  ['main.tf', '= 7420', '= 7430', 'api_port is'],
  ['main.tf', 'metrics_port = 7421', 'metrics_port = 7422', 'metrics_port is'],
  ['main.tf', '"/healthz"', '"/readyz"', 'health_check is'],
  ['main.tf', '= 310', '= 60', 'idle_timeout is'],
  ['main.tf', '= "HTTPS"', '= "HTTP"', 'listener is'],
  ['main.tf', 'tls_enabled              = true', '', 'tls_enabled is'],
  ['main.tf', '"noeviction"', '"allkeys-lru"', 'maxmemory-policy is'],
  ['main.tf', ' -@dangerous', '', 'access_string is'],
  ['main.tf', '"rediss+cluster:', '"rediss:', 'REDIS_URL is'],
  ['main.tf', '"~> 6.25"', '"~> 5.0"', 'the version of the provider is not ~> 6.25'],
];

interface Readers {
  readonly types: Types;
  /** Major and minor version of the provider. */
  readonly version: string;
  readonly container: Shape;
  /** HCL as JSON. */
  parse(name: string, text: string): Promise<Record<string, Json>>;
}

export async function checkTerraform(report: Report, folder: string): Promise<void> {
  const what = 'the Terraform example';
  const readers = await installed(folder).catch((error: Error) => error);
  if (readers instanceof Error) return report.notRun(what, `its packages of npm: ${readers.message}`);
  const files = Object.fromEntries(
    globSync(`${FOLDER}/*.tf`).map((file) => [basename(file), readFileSync(file, 'utf8')]),
  );
  await report.check(`${what}, beside the provider's schema, the ECS API and the manifests`, async () => {
    const faults = await faultsOf(files, readers);
    demand(faults.length === 0, faults.join('\n'));
  });
  await report.check(`${what}: each of ${FAULTS.length} faults in a copy is found`, async () => {
    for (const [file, from, to, found] of FAULTS) {
      const text = files[file] ?? '';
      demand(text.includes(from), `${file} has no ${from}`);
      const faults = await faultsOf({ ...files, [file]: text.replace(from, () => to) }, readers);
      demand(
        faults.some((fault) => fault.includes(found)),
        `${to}: found ${faults.join(', ') || 'nothing'}`,
      );
    }
  });
}

async function installed(folder: string): Promise<Readers> {
  const place = await npmPackages(PACKAGES);
  const load = async (name: string, file: string): Promise<unknown> =>
    import(pathToFileURL(join(place, 'node_modules', name, file)).href);
  const hcl = (await load('@cdktf/hcl2json', 'lib/index.js')) as Pick<Readers, 'parse'>;
  const ecs = (await load('@aws-sdk/client-ecs', 'dist-cjs/index.js')) as { ContainerDefinition$: Shape };
  const archive = must('npm', ['pack', PROVIDER, '--silent', '--pack-destination', folder]).trim();
  must('tar', ['-xzf', join(folder, archive), '-C', folder, 'package/.jsii', 'package/package.json']);
  const unpacked = (file: string): unknown => JSON.parse(readFileSync(join(folder, 'package', file), 'utf8'));
  const { types } = unpacked('.jsii') as { types: Types };
  const { cdktf } = unpacked('package.json') as { cdktf: { provider: { version: string } } };
  const version = cdktf.provider.version.replace(/\.\d+$/, '');
  return { types, version, container: ecs.ContainerDefinition$, parse: hcl.parse };
}

async function faultsOf(files: Files, readers: Readers): Promise<string[]> {
  const example = await readExample(files, readers.parse).catch((error: Error) => error.message);
  if (typeof example === 'string') return [example];
  const { resources, containers, text } = example;
  const task = resources.get('aws_ecs_task_definition.role') ?? {};
  return [
    ...(text.includes(`"~> ${readers.version}"`)
      ? []
      : [`the version of the provider is not ~> ${readers.version}`]),
    ...[...resources].flatMap(([address, body]) =>
      resourceFaults(readers.types, address, body, text).map((fault) => `${address} ${fault}`),
    ),
    ...referenceFaults(example, readers.types),
    ...containerFaults(readers.container, task, containers),
    ...installationFaults(example),
  ];
}
