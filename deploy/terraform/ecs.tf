# The roles as services of ECS on Fargate: one task definition and one scaling policy for each.
# Must never give the keys of providers to another role than the worker, nor a task a role in AWS.
locals {
  config = jsondecode(var.config)

  # Seconds from SIGTERM to SIGKILL: the drain, 8 s, and some more. Fargate allows 120.
  stop_seconds = {
    api    = 20
    engine = 15 + ceil(try(local.config.engine.drain_ms, 5000) / 1000)
    worker = 20 + ceil(try(local.config.worker.drain_ms, 20000) / 1000)
  }

  environment = merge(var.environment, {
    ADJUTANT_CONFIG             = "/config/adjutant.json"
    ADJUTANT_LOG_FORMAT         = "json"
    ADJUTANT_METRICS_PORT       = tostring(local.metrics_port)
    ADJUTANT_ALLOWED_HOSTS      = var.host
    OTEL_EXPORTER_OTLP_ENDPOINT = var.otlp_endpoint
  })

  # The version in the name, so that a new password starts new tasks.
  redis_url = "${aws_secretsmanager_secret.redis_url.arn}:::${aws_secretsmanager_secret_version.redis_url.version_id}"

  # ARNs without the name of a member: arn:aws:secretsmanager:region:account:secret:name.
  secret_arns = distinct([
    for arn in flatten([local.redis_url, [for secrets in var.secrets : values(secrets)]]) : join(":", slice(split(":", arn), 0, 7))
  ])
}

resource "aws_ecs_cluster" "this" {
  name = var.name

  setting {
    name  = "containerInsights"
    value = "enabled"
  }
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/ecs/${var.name}"
  retention_in_days = var.log_retention_days
}

# With this role ECS pulls the image, reads the secrets and writes the logs. The containers never get it.
resource "aws_iam_role" "execution" {
  name_prefix = "${var.name}-execution-"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ecs-tasks.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy_attachment" "execution" {
  role       = aws_iam_role.execution.name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
}

resource "aws_iam_role_policy" "secrets" {
  name = "secrets"
  role = aws_iam_role.execution.id
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "secretsmanager:GetSecretValue", Resource = local.secret_arns }]
  })
}

resource "aws_ecs_task_definition" "role" {
  for_each                 = var.roles
  family                   = "${var.name}-${each.key}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = each.value.cpu
  memory                   = each.value.memory
  execution_role_arn       = aws_iam_role.execution.arn
  # A rollback names a former revision.
  skip_destroy = true

  volume {
    name = "config"
  }

  volume {
    name = "tmp"
  }

  container_definitions = jsonencode([
    {
      # Volumes of Fargate are empty and belong to root: this writes adjutant.json, opens /tmp to user 1000, and ends.
      name                   = "prepare"
      image                  = var.image
      essential              = false
      user                   = "0"
      readonlyRootFilesystem = true
      entryPoint             = ["sh", "-c"]
      command                = ["printf %s \"$CONFIG\" > /config/adjutant.json && chmod 1777 /tmp"]
      environment            = [{ name = "CONFIG", value = var.config }]
      mountPoints = [
        { sourceVolume = "config", containerPath = "/config" },
        { sourceVolume = "tmp", containerPath = "/tmp" },
      ]
      logConfiguration = {
        logDriver = "awslogs"
        options   = { awslogs-group = aws_cloudwatch_log_group.this.name, awslogs-region = var.region, awslogs-stream-prefix = each.key }
      }
    },
    {
      name                   = each.key
      image                  = var.image
      essential              = true
      user                   = "1000"
      readonlyRootFilesystem = true
      command                = [each.key]
      dependsOn              = [{ containerName = "prepare", condition = "SUCCESS" }]
      stopTimeout            = local.stop_seconds[each.key]
      portMappings           = [for port in each.key == "api" ? [local.api_port, local.metrics_port] : [local.metrics_port] : { containerPort = port }]
      environment            = [for name, value in local.environment : { name = name, value = value }]
      secrets = concat(
        [{ name = "REDIS_URL", valueFrom = local.redis_url }],
        [for name, arn in var.secrets[each.key] : { name = name, valueFrom = arn }],
      )
      # A first process that collects what MCP servers leave behind.
      linuxParameters = { initProcessEnabled = true, capabilities = { drop = ["ALL"] } }
      mountPoints = [
        { sourceVolume = "config", containerPath = "/config", readOnly = true },
        { sourceVolume = "tmp", containerPath = "/tmp" },
      ]
      # ECS does not read the HEALTHCHECK of the image.
      healthCheck = { command = ["CMD", "node", "scripts/health.mjs"], interval = 10, timeout = 3, startPeriod = 20, retries = 3 }
      logConfiguration = {
        logDriver = "awslogs"
        options   = { awslogs-group = aws_cloudwatch_log_group.this.name, awslogs-region = var.region, awslogs-stream-prefix = each.key }
      }
    },
  ])

  # A task that starts before it may read its secrets and reach the network fails.
  depends_on = [
    aws_iam_role_policy.secrets,
    aws_iam_role_policy_attachment.execution,
    aws_vpc_security_group_egress_rule.https,
    aws_vpc_security_group_egress_rule.vpc,
    aws_vpc_security_group_egress_rule.worker,
    aws_vpc_security_group_ingress_rule.redis,
  ]
}

resource "aws_ecs_service" "inner" {
  for_each                           = toset(["engine", "worker"])
  name                               = each.key
  cluster                            = aws_ecs_cluster.this.id
  task_definition                    = aws_ecs_task_definition.role[each.key].arn
  launch_type                        = "FARGATE"
  desired_count                      = var.roles[each.key].min
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  wait_for_steady_state              = true

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets         = var.private_subnet_ids
    security_groups = [aws_security_group.role[each.key].id]
  }

  lifecycle {
    ignore_changes = [desired_count]
  }
}

# An upgrade replaces engines and workers first, then the API.
resource "aws_ecs_service" "api" {
  name                               = "api"
  cluster                            = aws_ecs_cluster.this.id
  task_definition                    = aws_ecs_task_definition.role["api"].arn
  launch_type                        = "FARGATE"
  desired_count                      = var.roles["api"].min
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  health_check_grace_period_seconds  = 120
  wait_for_steady_state              = true

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets         = var.private_subnet_ids
    security_groups = [aws_security_group.role["api"].id]
  }

  load_balancer {
    target_group_arn = aws_lb_target_group.api.arn
    container_name   = "api"
    container_port   = local.api_port
  }

  lifecycle {
    ignore_changes = [desired_count]
  }

  depends_on = [
    aws_ecs_service.inner,
    aws_lb_listener.https,
    aws_vpc_security_group_egress_rule.load_balancer,
    aws_vpc_security_group_ingress_rule.api,
  ]
}

resource "aws_appautoscaling_target" "role" {
  for_each           = merge({ api = aws_ecs_service.api.name }, { for role, service in aws_ecs_service.inner : role => service.name })
  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = "service/${aws_ecs_cluster.this.name}/${each.value}"
  min_capacity       = var.roles[each.key].min
  max_capacity       = var.roles[each.key].max
}

# Scaling follows processor time, which needs no further service. Workers that wait for slow calls use little: raise their `min`.
resource "aws_appautoscaling_policy" "role" {
  for_each           = aws_appautoscaling_target.role
  name               = "cpu"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = each.value.service_namespace
  scalable_dimension = each.value.scalable_dimension
  resource_id        = each.value.resource_id

  target_tracking_scaling_policy_configuration {
    target_value       = 60
    scale_in_cooldown  = 120
    scale_out_cooldown = 30

    predefined_metric_specification {
      predefined_metric_type = "ECSServiceAverageCPUUtilization"
    }
  }
}
