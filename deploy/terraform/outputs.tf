output "load_balancer" {
  description = "DNS name and hosted zone of the load balancer, for the record of `host`."
  value       = { dns_name = aws_lb.api.dns_name, zone_id = aws_lb.api.zone_id }
}

output "redis_address" {
  description = "Cluster endpoint of MemoryDB."
  value       = aws_memorydb_cluster.redis.cluster_endpoint[0].address
}

output "doctor" {
  description = "Command that runs `adjutant doctor` as a task. The log group has its findings; the one about the service, which asks for a key, does not count."
  value = join(" ", [
    "aws ecs run-task --launch-type FARGATE --cluster ${aws_ecs_cluster.this.name}",
    "--task-definition ${aws_ecs_task_definition.role["worker"].family}",
    "--network-configuration 'awsvpcConfiguration={subnets=[${join(",", var.private_subnet_ids)}],securityGroups=[${aws_security_group.role["worker"].id}]}'",
    "--overrides '{\"containerOverrides\":[{\"name\":\"worker\",\"command\":[\"doctor\"]}]}'",
  ])
}
